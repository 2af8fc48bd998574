/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Server cookies of DNS (RFC 7873, RFC 9018): they prove that the asker gets what is sent to its address. Made with
 * one secret, good with that or the one before it, for an hour.
 */
#pragma once

#include <bpf/bpf_endian.h>

#include "question.h"

#define COOKIE_VERSION 1
#define COOKIE_LIFE    3600 /* s since it was made (RFC 9018 section 4.3) */
#define COOKIE_AHEAD   300
#define COOKIE_ROOM    28 /* octets of the option */

/* Of client cookie, head and address: 20 octets. */
static __always_inline __u64 cookie_hash(const __u64 *secret, __u64 client, __u64 head, __u32 asker)
{
	struct siphash hash = siphash_begin(secret);

	siphash_word(&hash, client);
	siphash_word(&hash, head);
	return siphash_end(&hash, asker | 20ULL << 56);
}

static __always_inline __u32 cookie_time(const struct question_state *state)
{
	return (bpf_ktime_get_ns() + state->wall) / 1000000000;
}

/* Whether the question has a cookie that was given to its asker. */
__noinline bool cookie_is_good(struct question *q, __u32 asker)
{
	__u32 zero = 0;
	struct question_state *state = bpf_map_lookup_elem(&question_states, &zero);
	__s32 age;

	if (!q || !state || !q->whole || (__u8)q->head != COOKIE_VERSION)
		return false;
	/* Signed, since timestamps go round (RFC 1982). */
	age = cookie_time(state) - bpf_ntohl(q->head >> 32);
	if (age > COOKIE_LIFE || age < -COOKIE_AHEAD)
		return false;
	return cookie_hash(state->secret[0], q->client, q->head, asker) == q->hash ||
	       cookie_hash(state->secret[1], q->client, q->head, asker) == q->hash;
}

/* Makes the server cookie of an answer, in place of the asker's. */
__noinline bool cookie_make(struct question *q, __u32 asker)
{
	__u32 zero = 0;
	struct question_state *state = bpf_map_lookup_elem(&question_states, &zero);

	if (!q || !state)
		return false;
	q->head = COOKIE_VERSION | (__u64)bpf_htonl(cookie_time(state)) << 32;
	q->hash = cookie_hash(state->secret[0], q->client, q->head, asker);
	return true;
}
