/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is remembered of fragments: fragment/context.h, fragment/hold.h.
 */
#pragma once

#include <linux/types.h>

#define FRAGMENT_WAYS	 4
#define FRAGMENT_BUCKETS 16384 /* of contexts */
#define IDENTIFICATIONS	 8192

/*
 * Where the fragments of a packet go. word: the session's number in the low 26 bits, the state in 2, the time in 20, the
 * identification that they have behind the gateway in 16.
 */
struct fragment_context {
	__u64 tag; /* fragment_tag */
	__u64 word;
};

struct fragment_bucket {
	struct fragment_context context[FRAGMENT_WAYS];
};

/* An octet of the tag of each context, apart: who forges fragments leaves the contexts out of the caches. */
#define FRAGMENT_OCTETS 64 /* a cache line */

struct fragment_octets {
	__u8 octet[FRAGMENT_OCTETS];
};

/* What the programs that a fragment enters tell each other. */
struct fragment_here {
	__u64 tag; /* of the context that is due when the hairpin has passed */
	__u32 whose;
	__u32 session;
	__u16 identification;
	__u8 side; /* enum fragment_side */
	__u8 set;  /* what is held for the first fragment: carrier.h */
	__u8 ways;
	__u8 pad[3];
	__u64 held; /* their tag */
};

/* Early ones: sets of eight slots, 1 MiB in all. word: the tag's high 40 bits, the time in 20, the state in 4. */
#define HOLD_SETS  64
#define HOLD_WAYS  8
#define HOLD_FRAME 2040 /* octets of the longest frame */

struct hold_set {
	__u64 word[HOLD_WAYS];
};

struct held_fragment {
	__u16 length;
	__u8 side; /* enum fragment_side */
	__u8 pad[5];
	__u8 frame[HOLD_FRAME];
};

/* When remote addresses had a session, by a hash, in units of 2^34 ns (17 s). */
#define SEEN_ENTRIES 32
#define SEEN_BUCKETS 2048

struct seen_bucket {
	__u16 time[SEEN_ENTRIES];
};

/* What the first fragment says to the other end of the carrier, in the place of link addresses. */
struct carrier_message {
	__u8 kind;
	__u8 set;
	__u8 ways; /* slots of the set that are its packet's, a bit each */
	__u8 side; /* enum side */
	__u16 hop; /* where the first fragment itself goes: it is what finds no slot; CARRIER_COPY: it is not among them */
	__u16 tag[3];
};

/* Pairs of interfaces of the gateway's own: what is sent to one comes in by the other. */
enum carrier {
	CARRIER_FRAGMENTS, /* which were held, fragment/carrier.h */
	CARRIER_EDGE,	   /* what is to be single packets, tunnel/segment.h */
	CARRIER_MAX,
};
