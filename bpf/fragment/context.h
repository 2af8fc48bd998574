/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where later fragments go. The first of a packet is judged as any packet is; if it passes it leaves here the session
 * that it is of, and the others follow it, whoever sends them. A sender has 64 buckets of the table, which its address
 * chooses, so that it takes no room from most others: beyond that its oldest give way.
 */
#pragma once

#include "../include/clock.h"
#include "../packet/fragment_parse.h"
#include "../conntrack/session.h"

#define CONTEXT_SESSION	  ((1ULL << 26) - 1)
#define CONTEXT_STATE_AT  26
#define CONTEXT_TIME_AT	  28
#define CONTEXT_TIME	  ((1 << 20) - 1)
#define CONTEXT_NUMBER_AT 48
#define CONTEXT_LIVES	  477 /* 2 s (RFC 6146 section 4) */
#define CONTEXT_BUCKETS	  64  /* of a sender; a power of two */

#define FRAGMENT_TIME_SHIFT 22 /* 4.2 ms */

enum context_state {
	CONTEXT_BUSY = 1, /* somebody writes it */
	CONTEXT_LIVE,
	CONTEXT_DEAD, /* two first fragments have come that do not agree */
};

/* From where fragments come; of what goes round in a hairpin nobody outside can forge any. */
enum fragment_side {
	FRAGMENT_OUT = 1,
	FRAGMENT_IN,
	FRAGMENT_HAIRPIN,
};

/* Of one pair of addresses no two tags are the same. */
static __always_inline __u64 fragment_tag(__u32 source, __u32 destination, __u16 identification, __u8 protocol,
					  enum fragment_side side)
{
	return hash_words((__u64)source << 32 | destination, (__u32)identification << 16 | protocol << 8 | side);
}

static __always_inline __u32 fragment_time(void)
{
	return bpf_ktime_get_coarse_ns() >> FRAGMENT_TIME_SHIFT & CONTEXT_TIME;
}

/* The number of its bucket. */
static __always_inline __u32 context_bucket(__u64 tag, __u32 whose)
{
	__u32 place = hash_words(whose, 1) & (FRAGMENT_BUCKETS - CONTEXT_BUCKETS);

	return place + (tag >> 32 & (CONTEXT_BUCKETS - 1));
}

/* The octets of a bucket's tags, one for each way. */
static __always_inline __u8 *context_octets(__u32 place)
{
	__u32 line = place / (FRAGMENT_OCTETS / FRAGMENT_WAYS);
	struct fragment_octets *octets = bpf_map_lookup_elem(&fragment_octets, &line);

	return octets ? &octets->octet[place * FRAGMENT_WAYS & (FRAGMENT_OCTETS - 1)] : 0;
}

static __always_inline __u8 context_octet(__u64 tag)
{
	return tag >> 56;
}

/* Whether a context of the bucket may have the tag. */
static __always_inline bool context_may_stand(__u32 place, __u64 tag)
{
	volatile __u8 *octets = context_octets(place);
	__u8 octet = context_octet(tag);

	return octets && (octets[0] == octet || octets[1] == octet || octets[2] == octet || octets[3] == octet);
}

static __always_inline enum context_state context_state(__u64 word)
{
	return word >> CONTEXT_STATE_AT & 3;
}

static __always_inline __u32 context_session(__u64 word)
{
	return word & CONTEXT_SESSION;
}

static __always_inline __u16 context_number(__u64 word)
{
	return word >> CONTEXT_NUMBER_AT;
}

static __always_inline __u32 context_age(__u64 word, __u32 now)
{
	return (now - (__u32)(word >> CONTEXT_TIME_AT)) & CONTEXT_TIME;
}

static __always_inline __u64 context_word(__u32 session, enum context_state state, __u32 now, __u16 identification)
{
	return session | (__u64)state << CONTEXT_STATE_AT | (__u64)now << CONTEXT_TIME_AT |
	       (__u64)identification << CONTEXT_NUMBER_AT;
}

/* The word of a context that stands, live or dead, or 0. */
static __always_inline __u64 context_find(__u64 tag, __u32 whose)
{
	__u32 place = context_bucket(tag, whose), now = fragment_time();
	struct fragment_bucket *bucket;

	if (!context_may_stand(place, tag))
		return 0;
	bucket = bpf_map_lookup_elem(&fragment_contexts, &place);
#pragma unroll
	for (int i = 0; bucket && i < FRAGMENT_WAYS; i++) {
		volatile struct fragment_context *context = &bucket->context[i];
		__u64 word;

		if (context->tag != tag)
			continue;
		word = context->word;
		if (context_state(word) >= CONTEXT_LIVE && context_age(word, now) <= CONTEXT_LIVES &&
		    context->tag == tag)
			return word;
	}
	return 0;
}

/* The way for a tag: where it stands already, or what is free, or oldest. */
static __always_inline __u32 context_way(struct fragment_bucket *bucket, __u64 tag, __u32 now)
{
	__u32 most = 0, found = 0;

#pragma unroll
	for (int i = 0; i < FRAGMENT_WAYS; i++) {
		struct fragment_context *context = &bucket->context[i];
		__u64 word = *(volatile __u64 *)&context->word;
		__u32 age = word ? context_age(word, now) : CONTEXT_TIME;

		if (word && *(volatile __u64 *)&context->tag == tag)
			return i;
		if (age > most) {
			most = age;
			found = i;
		}
	}
	return found;
}

/* A full barrier: what is looked for behind it was there when somebody did not see this context. */
__noinline int context_put(__u64 tag, __u32 whose, __u32 session, enum context_state state, __u16 identification)
{
	__u32 place = context_bucket(tag, whose), now = fragment_time();
	struct fragment_bucket *bucket = bpf_map_lookup_elem(&fragment_contexts, &place);
	__u8 *octets = context_octets(place);

	for (int tries = 0; bucket && octets && tries < 4; tries++) {
		__u32 way = context_way(bucket, tag, now) & (FRAGMENT_WAYS - 1);
		struct fragment_context *context = &bucket->context[way];
		__u64 old = *(volatile __u64 *)&context->word;

		if (__sync_val_compare_and_swap(&context->word, old, context_word(0, CONTEXT_BUSY, now, 0)) != old)
			continue;
		*(volatile __u64 *)&context->tag = tag;
		*(volatile __u8 *)&octets[way] = context_octet(tag);
		__sync_lock_test_and_set(&context->word, context_word(session, state, now, identification));
		return 1;
	}
	return 0;
}

/* Whether the session is one that a packet with these addresses is of, by its direction. */
static __always_inline bool session_has(const struct session *session, __u32 source, __u32 destination, __u8 protocol,
					enum direction direction)
{
	if (*(const volatile __u8 *)&session->life.as.phase != PHASE_LIVE || session->protocol != protocol)
		return false;
	return direction == DIRECTION_OUT
		       ? session->private_address == source && session->remote_address == destination
		       : session->remote_address == source && session->external_address == destination;
}

static __always_inline struct fragment_here *fragment_here(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&fragments_here, &zero);
}
