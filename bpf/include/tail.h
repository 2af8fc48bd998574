/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs that are entered by tail call. A packet that a chain has to judge leaves the gateway's program for the
 * classifier of its generation, which enters the chain; both end in gateway_again, which starts anew with the verdict.
 */
#pragma once

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

enum program {
	PROGRAM_HAIRPIN,
	PROGRAM_AGAIN,
	PROGRAM_CLASSIFIER_EVEN, /* of the even generations */
	PROGRAM_CLASSIFIER_ODD,
	PROGRAM_MAX,
};

#define CHAIN_BITS    11
#define CHAINS	      (1 << CHAIN_BITS) /* number 0 is none */
#define CHAIN_PACKETS 0x8000		/* of a chain's number: it has functions for every packet */

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, PROGRAM_MAX);
	__type(key, __u32);
	__type(value, __u32);
} programs SEC(".maps");

/* Two programs a chain: for what has to be judged, and for every packet of what was. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 2 * CHAINS);
	__type(key, __u32);
	__type(value, __u32);
} chains SEC(".maps");
