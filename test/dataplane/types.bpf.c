// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The types of the tables that tests read: a mention keeps them in the object's type information.
 */

//go:build ignore

#include <linux/bpf.h>

#include "../../bpf/include/types.h"
#include "../../bpf/conntrack/limit_types.h"
#include "../../bpf/nat/slot_types.h"
#include "../../bpf/pool/types.h"

struct read {
	enum record_bucket record_bucket;
	enum origin origin;
	enum phase phase;
	enum tcp_state tcp_state;
	struct banned banned;
	struct banned6 banned6;
	struct binding binding;
	struct bound_port bound_port;
	struct bucket bucket;
	struct endpoint endpoint;
	struct known known;
	struct known_life known_life;
	struct layout layout;
	struct mapping_block mapping_block;
	struct port_bitmap port_bitmap;
	struct record_uses record_uses;
	struct session session;
	struct shares shares;
	struct tally_bucket tally_bucket;
};

const struct read *read __attribute__((unused));
