/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What one may take of the tables, and the records that count it.
 */
#pragma once

#include <linux/types.h>

#define TALLY_WAYS	     4 /* entries of a bucket: one cache line */
#define LED_BUCKETS	     1024
#define MAPPING_INBOUND_MOST 0xfff
#define TALLY_RATE_MAX	     0xfff /* to which new sessions of a second are counted */
#define NO_LIMIT	     0xffffffff

/*
 * What an address has open. Both words are read and written whole. shares: 16 bits each of mappings, by port_protocol(), and
 * in the highest of new sessions, 4 bits of the second and 12 of their count.
 */
struct tally {
	__u64 uses; /* struct tally_uses */
	__u64 shares;
};

struct tally_uses {
	__u32 address;
	__u32 count; /* what refers to the entry, 0: it may go to another address */
};

struct tally_bucket {
	struct tally tally[TALLY_WAYS];
};

/* Part of the settings; NO_LIMIT where there is none. */
struct limits {
	__u32 host_sessions;	/* opened by one host inside */
	__u32 host_ports[3];	/* its mappings, by port_protocol() */
	__u32 host_rate;	/* sessions that it opens in a second */
	__u32 remote_sessions;	/* open, of one remote address, from outside */
	__u32 remote_rate;	/* such ones in a second */
	__u32 binding_sessions; /* open, of one binding; of one host that dnat or 1:1 leads to, proved or not */
	__u32 mapping_sessions; /* from outside, through one mapping; at most MAPPING_INBOUND_MOST */
};
