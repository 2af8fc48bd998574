/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reservations of the circular pool. The daemon offers, extends and withdraws them; the first packet that
 * matches claims one. A claim is a compare-and-swap of the claims word, so that a withdrawn reservation is never
 * claimed and no claim is given twice. Who claimed may open more sessions for a while (pool.again), and so may,
 * within the same while, a few others: a resolver merges equal questions, and its one question stands for all.
 */
#pragma once

#include "index.h"
#include "packet.h"

#define CLAIM_TICK_SHIFT 20

struct reservation_key {
	__u32 address;
	__u32 source;
	__u16 port;
	__u8 protocol;
};

static __always_inline struct reservation *reservation_at(__u32 slot)
{
	return bpf_map_lookup_elem(&reservation_table, &slot);
}

/* What tells one use of a slot from the next: the high half of the reservation's id. */
static __always_inline __u32 reservation_use(const struct reservation *r)
{
	return *(const volatile __u64 *)&r->id >> 32;
}

static __always_inline struct claims claims_of(__u64 word)
{
	union {
		__u64 word;
		struct claims claims;
	} u = {.word = word};

	return u.claims;
}

static __always_inline __u64 claims_word(struct claims claims)
{
	union {
		struct claims claims;
		__u64 word;
	} u = {.claims = claims};

	return u.word;
}

static __always_inline bool reservation_matches(__u32 slot, const void *wanted)
{
	const struct reservation_key *key = wanted;
	struct reservation *r = reservation_at(slot);

	return r && r->address == key->address && r->port == key->port && r->protocol == key->protocol &&
	       (key->source & r->source_mask) == r->source_prefix && claims_of(r->claims).open;
}

static __always_inline struct place reservation_place(const struct reservation_key *key)
{
	return index_place(hash_words(key->address, (__u32)key->port << 8 | key->protocol), fixed.reservation_buckets,
			   fixed.reservation_bits);
}

__noinline __u32 reservation_lookup(const struct reservation_key *key)
{
	if (!key)
		return 0;
	return index_find(&reservation_index, reservation_place(key), fixed.reservation_bits, reservation_matches, key);
}

/* The one reservation that the packet meets (I1 sees to it that there is no second). */
__noinline __u32 reservation_find(const struct tuple *tuple)
{
	struct reservation_key key = {};
	__u32 slot = 0;

	if (!tuple)
		return 0;
	key.address = tuple->destination;
	key.source = tuple->source;
	for (int wildcards = 0; wildcards < 4 && !slot; wildcards++) {
		key.port = wildcards & 1 ? 0 : tuple->destination_port;
		key.protocol = wildcards & 2 ? 0 : tuple->protocol;
		slot = reservation_lookup(&key);
	}
	return slot;
}

static __always_inline bool claimer_is_known(const struct reservation *r, __u32 source, __u64 now)
{
#pragma unroll
	for (int i = 0; i < RESERVATION_CLAIMERS; i++)
		if (r->claimer[i].source == source &&
		    (__s32)(r->claimer[i].until - (__u32)(now >> CLAIM_TICK_SHIFT)) > 0)
			return true;
	return false;
}

/* Remembers who claimed, in the place of the one whose time ends first. */
static __always_inline void claimer_add(struct reservation *r, __u32 source, __u64 until)
{
	struct claimer *oldest = &r->claimer[0];

#pragma unroll
	for (int i = 1; i < RESERVATION_CLAIMERS; i++)
		if ((__s32)(r->claimer[i].until - oldest->until) < 0)
			oldest = &r->claimer[i];
	oldest->source = source;
	oldest->until = until >> CLAIM_TICK_SHIFT;
}

static __always_inline void reservation_report(const struct reservation *r, __u32 type, struct claims claims, __u64 now)
{
	struct claim_event *event = bpf_ringbuf_reserve(&claim_events, sizeof(*event), 0);

	if (!event) {
		/* The daemon asks for the state of every reservation before it gives one up. */
		count_statistic(STATISTIC_EVENTS_LOST);
		return;
	}
	event->id = r->id;
	event->at = now;
	event->type = type;
	event->left = claims.left;
	event->used = claims.used;
	bpf_ringbuf_submit(event, 0);
}

static __always_inline enum reason claim_take(struct reservation *r, __u32 use, __u32 source, __u64 now)
{
	for (int tries = 0; tries < 8; tries++) {
		__u64 before = *(volatile __u64 *)&r->claims;
		struct claims claims = claims_of(before);
		__u64 until = now + r->again;

		if (!claims.open || claims.use != (__u16)use)
			return REASON_DROP_NO_RESERVATION;
		if (claims.left && now < r->expires) {
			claims.left--;
		} else if (claims.merged && now < r->merged_until) {
			claims.merged--;
			until = r->merged_until;
		} else {
			return REASON_DROP_RESERVATION_SPENT;
		}
		claims.used++;
		if (__sync_val_compare_and_swap(&r->claims, before, claims_word(claims)) != before)
			continue;
		if (claims.left == 0 && r->merged_until == 0)
			r->merged_until = until;
		r->claimed_at = now;
		if (r->again)
			claimer_add(r, source, until);
		count_statistic(STATISTIC_CLAIMS);
		reservation_report(r, EVENT_CLAIMED, claims, now);
		return REASON_NONE;
	}
	return REASON_DROP_BUSY;
}

/*
 * Whether the packet may open a session by this use of the slot; a first packet uses up a claim. Once it is
 * reported the daemon may give the slot to another, and does at once where pool.again is 0.
 */
__noinline enum reason reservation_claim(struct reservation *r, __u32 use, const struct packet *packet)
{
	__u64 now = bpf_ktime_get_ns();

	if (!r || !packet)
		return REASON_DROP_INTERNAL;
	if (claimer_is_known(r, packet->tuple.source, now))
		return reservation_use(r) == use ? REASON_NONE : REASON_DROP_NO_RESERVATION;
	return claim_take(r, use, packet->tuple.source, now);
}

/* One session more by the reservation, if the slot still holds it. */
static __always_inline void reservation_join(__u32 slot, __u32 use)
{
	struct reservation *r = reservation_at(slot);

	if (r && reservation_use(r) == use)
		__sync_fetch_and_add(&r->sessions, 1);
}

/* One session less. After the last one others may need the address. */
__noinline int reservation_leave(__u32 slot, __u32 use)
{
	struct reservation *r = reservation_at(slot);

	if (!r || reservation_use(r) != use || !claims_of(r->claims).open)
		return 0;
	if (__sync_fetch_and_add(&r->sessions, -1) == 1)
		reservation_report(r, EVENT_CLOSED, claims_of(r->claims), bpf_ktime_get_ns());
	return 1;
}
