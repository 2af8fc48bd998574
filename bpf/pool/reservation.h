/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reservations: each is one answer to one asker, and gives claims to a binding. A client claims what it has asked for
 * itself, else the first in the binding's queue that is for its address. A claim is a compare-and-swap of the claims word,
 * so that a withdrawn reservation is never claimed and no claim is given twice. One that somebody else than its asker
 * has claimed was a resolver's, whose one question may stand for several clients: for a while a few more may claim it.
 */
#pragma once

#include "../include/clock.h"
#include "../conntrack/index.h"

/* Who would claim. */
struct claimer {
	__u64 at; /* since when it tries, CLOCK_MONOTONIC, ns: a reservation that expired since is still good */
	__u32 binding;
	__u32 number; /* the binding's */
	__u32 client;
	__u32 name; /* of what was claimed */
};

static __always_inline struct reservation *reservation_at(__u32 slot)
{
	return bpf_map_lookup_elem(&reservation_table, &slot);
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

static __always_inline bool reservation_is_for(const struct reservation *r, const struct claimer *who)
{
	/* Without branches: no prefix shifts by 32. */
	__u32 mask = bpf_htonl((__u64)0xffffffff << (32 - (r->source_bits & 63)) & 0xffffffff);

	return r->binding == who->binding && r->number == who->number && (who->client & mask) == r->source;
}

/* Whether there is something to claim by one who tries since then. */
static __always_inline bool claims_allow(const struct reservation *r, struct claims claims, __u64 at)
{
	__u64 merged_until = *(const volatile __u64 *)&r->merged_until;

	if (claims.state == CLAIMS_CLOSED)
		return false;
	if (claims.left && at < r->expires)
		return true;
	/* While it is 0 the first has just claimed. */
	return claims.state == CLAIMS_SHARED && claims.merged && (!merged_until || at < merged_until);
}

static __always_inline bool reservation_suits(const struct reservation *r, const struct claimer *who)
{
	return claims_allow(r, claims_of(*(const volatile __u64 *)&r->claims), who->at) && reservation_is_for(r, who);
}

__noinline bool reservation_is_own(__u32 slot, const struct claimer *who)
{
	struct reservation *r = reservation_at(slot);

	return r && who && r->asker == who->client && reservation_suits(r, who);
}

static __always_inline bool reservation_matches(__u32 slot, const void *who)
{
	return reservation_is_own(slot, who);
}

static __always_inline struct place reservation_place(__u32 number, __u32 asker)
{
	return index_place(hash_words(number, asker), fixed.reservation_buckets, fixed.reservation_bits);
}

/* What the client has asked for itself and may claim, or 0. */
__noinline __u32 reservation_own(const struct claimer *who)
{
	if (!who)
		return 0;
	return index_find(&reservation_index, reservation_place(who->number, who->client), fixed.reservation_bits,
			  reservation_matches, who);
}

#define CLAIM_WAKE_SHIFT 22 /* ns: 4 ms */

/*
 * Whether who reads of claims is woken, which costs as much as all else of a claim: by each CPU once in 4 ms. While events
 * come it looks by itself (internal/datapath/event.go).
 */
static __always_inline __u64 claim_wakes(__u64 now)
{
	__u32 zero = 0, window = now >> CLAIM_WAKE_SHIFT;
	struct budget *budget = bpf_map_lookup_elem(&budgets, &zero);

	if (budget && budget->claims_told == window)
		return BPF_RB_NO_WAKEUP;
	if (budget)
		budget->claims_told = window;
	return BPF_RB_FORCE_WAKEUP;
}

static __always_inline void reservation_report(const struct reservation *r, struct claims claims, __u32 client,
					       __u64 now)
{
	struct claim_event *event = bpf_ringbuf_reserve(&claim_events, sizeof(*event), 0);

	if (!event) {
		/* The daemon hears of it when it withdraws the reservation. */
		count_statistic(STATISTIC_EVENTS_LOST);
		return;
	}
	event->id = r->id;
	event->at = now;
	event->client = client;
	event->left = claims.left + (claims.state == CLAIMS_SHARED ? claims.merged : 0);
	event->used = claims.used;
	bpf_ringbuf_submit(event, claim_wakes(now));
}

/* Takes a claim of this reservation; false where it has none any more. */
__noinline bool reservation_claim(__u32 slot, struct claimer *who)
{
	struct reservation *r = reservation_at(slot);
	__u64 now = bpf_ktime_get_ns();

	if (!r || !who)
		return false;
	for (int tries = 0; tries < 8; tries++) {
		__u64 before = *(volatile __u64 *)&r->claims;
		struct claims claims = claims_of(before);

		/* All that is read here is of the use of the slot that the word is of. */
		if (!claims_allow(r, claims, who->at) || !reservation_is_for(r, who))
			return false;
		if (DRY) {
			who->name = r->name;
			return true;
		}
		if (claims.left && who->at < r->expires)
			claims.left--;
		else
			claims.merged--;
		claims.used++;
		if (who->client != r->asker)
			claims.state = CLAIMS_SHARED;
		if (__sync_val_compare_and_swap(&r->claims, before, claims_word(claims)) != before)
			continue;
		if (claims.state == CLAIMS_SHARED) {
			__u64 until = now + r->window * 1000000ULL;

			__sync_val_compare_and_swap(&r->merged_until, 0, until < r->expires ? until : r->expires);
		}
		r->claimed_at = now;
		who->name = r->name;
		count_statistic(STATISTIC_CLAIMS);
		reservation_report(r, claims, who->client, now);
		return true;
	}
	return false;
}
