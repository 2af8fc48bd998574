/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Our number in a SYN and ACK (RFC 4987 section 3.6): what the client said in its SYN, in 8 bits, and two keyed hashes of
 * 12 over addresses, ports, these bits and the time, of which only the second knows the client's first number, too. So a
 * segment that has overtaken the first one is told from one of no connection of ours. A cookie is good for one to two
 * epochs of 69 s.
 */
#pragma once

#include "../include/clock.h"
#include "../include/maps.h"
#include "../include/siphash.h"
#include "../packet/packet.h"
#include "offer.h"

#define SYN_COOKIE_EPOCH_SHIFT 8 /* of ticks */
#define SYN_COOKIE_HASH_MASK   0xfff

enum syn_cookie_said {
	SYN_COOKIE_BAD,
	SYN_COOKIE_LATER, /* of a connection of ours, but not its first segment */
	SYN_COOKIE_FIRST,
};

/* What is kept of an MSS, RFC 9293 section 3.7.1: the next below it. */
static __always_inline __u16 syn_cookie_mss(__u32 class)
{
	switch (class & 7) {
	case 0:
		return 88;
	case 1:
		return 536;
	case 2:
		return 1220;
	case 3:
		return 1300;
	case 4:
		return 1360;
	case 5:
		return 1400;
	case 6:
		return 1440;
	}
	return 1460;
}

static __always_inline __u32 syn_cookie_mss_class(__u16 mss)
{
	__u32 class = 0;

	for (__u32 i = 1; i < 8; i++) {
		if (mss >= syn_cookie_mss(i))
			class = i;
	}
	return class;
}

/* The connection from the client's side; begun: its first number. */
struct syn_cookie_input {
	struct tuple tuple;
	__u32 begun;
	__u32 epoch;
};

static __always_inline __u32 syn_cookie_hash(const struct syn_cookie_input *in, __u32 data, bool begun)
{
	__u64 key[2] = {fixed.syn_cookie_key[0], fixed.syn_cookie_key[1]};
	struct siphash hash = siphash_begin(key);

	siphash_word(&hash, (__u64)in->tuple.source << 32 | in->tuple.destination);
	siphash_word(&hash, (__u64)in->tuple.source_port << 48 | (__u64)in->tuple.destination_port << 32 | in->epoch);
	if (begun)
		siphash_word(&hash, in->begun);
	return siphash_end(&hash, (begun ? 25ULL : 17ULL) << 56 | data) & SYN_COOKIE_HASH_MASK;
}

/* For an offer. */
__noinline __u32 syn_cookie_make(const struct syn_cookie_input *in, __u32 data)
{
	if (!in)
		return 0;
	return data << 24 | syn_cookie_hash(in, data, false) << 12 | syn_cookie_hash(in, data, true);
}

static __always_inline __u32 syn_cookie_data(const struct offer *offer)
{
	return syn_cookie_mss_class(offer->mss) << 5 | offer->scale << 1 | offer->sack;
}

/* What the client offered that brings the cookie back. */
static __always_inline void syn_cookie_offer(__u32 cookie, struct offer *offer)
{
	offer->mss = syn_cookie_mss(cookie >> 29);
	offer->scale = cookie >> 25 & 15;
	offer->sack = cookie >> 24 & 1;
}

/* in->epoch: the present one. */
__noinline enum syn_cookie_said syn_cookie_check(struct syn_cookie_input *in, __u32 cookie)
{
	__u32 data = cookie >> 24;

	if (!in)
		return SYN_COOKIE_BAD;
	for (int i = 0; i < 2; i++) {
		if (syn_cookie_hash(in, data, false) == (cookie >> 12 & SYN_COOKIE_HASH_MASK))
			return syn_cookie_hash(in, data, true) == (cookie & SYN_COOKIE_HASH_MASK) ? SYN_COOKIE_FIRST
												  : SYN_COOKIE_LATER;
		in->epoch--;
	}
	return SYN_COOKIE_BAD;
}

static __always_inline __u32 syn_cookie_epoch(void)
{
	return clock_tick() >> SYN_COOKIE_EPOCH_SHIFT;
}
