/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Outbound addresses that change. Each has a slot: mappings stand by its number, so that nothing moves when an address comes
 * or goes. Hosts are in shares, by a hash of their address; each share has one slot, which all hosts in it leave by.
 */
#pragma once

#include <linux/types.h>

#define MAX_OUTBOUND 64 /* slots */
#define SHARE_BITS   14
#define SHARES	     (1 << SHARE_BITS)
#define NO_SLOT	     255 /* of a share: no outbound address lives */

struct slot {
	__u32 address;
	__u8 state; /* the daemon's: what may become of it */
	__u8 group; /* of shares: where sessions by its address stand, record_bucket.h */
	__u8 pad[2];
};

struct shares {
	__u8 slot[SHARES];
};

/* An internal endpoint. */
struct mapping_key {
	__u32 address;
	__u16 port;
	__u8 protocol;
	__u8 outbound; /* the slot of its outbound address */
};
