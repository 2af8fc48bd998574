/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fragments that come before the first of their packet: copied into a slot, until that one comes and claims them. Who holds
 * one looks for the context again when the slot can be seen, and who writes a context looks for slots behind it, with full
 * barriers: so neither can miss the other. A sender has 4 of the 64 sets, which its address chooses.
 */
#pragma once

#include "context.h"
#include "../conntrack/remote_seen.h"

#define HOLD_STATE   15
#define HOLD_TIME_AT 4
#define HOLD_TAG     ~((1ULL << 24) - 1)
#define HOLD_YOUNG   24	 /* 100 ms: then another may take the slot */
#define HOLD_LIVES   477 /* 2 s, and as long as it may be written and read: who does may have been interrupted */
#define HOLD_OF	     4	 /* sets of a sender; a power of two */

enum hold_state {
	HOLD_FREE,
	HOLD_BUSY, /* somebody writes or reads it */
	HOLD_HELD,
	HOLD_CLAIMED, /* the first fragment has come: a copy of it becomes this one */
};

static __always_inline __u32 hold_set(__u64 tag, __u32 whose)
{
	return (hash_words(whose, 3) + (tag >> 32 & (HOLD_OF - 1))) & (HOLD_SETS - 1);
}

static __always_inline __u64 hold_word(__u64 tag, enum hold_state state, __u32 now)
{
	return (tag & HOLD_TAG) | (__u64)now << HOLD_TIME_AT | state;
}

static __always_inline bool hold_is(__u64 word, __u64 tag, enum hold_state state)
{
	return !((word ^ tag) & HOLD_TAG) && (word & HOLD_STATE) == state;
}

static __always_inline __u32 hold_age(__u64 word, __u32 now)
{
	return (now - (__u32)(word >> HOLD_TIME_AT)) & CONTEXT_TIME;
}

static __always_inline bool hold_is_free(__u64 word, __u32 now)
{
	__u32 most = (word & HOLD_STATE) == HOLD_BUSY ? HOLD_LIVES : HOLD_YOUNG;

	return (word & HOLD_STATE) == HOLD_FREE || hold_age(word, now) > most;
}

static __always_inline struct held_fragment *hold_slot(__u32 set, __u32 way)
{
	__u32 place = set * HOLD_WAYS + way;

	return bpf_map_lookup_elem(&held_fragments, &place);
}

static __always_inline bool hold_write(ctx_t *ctx, struct held_fragment *slot, enum fragment_side side)
{
	__u64 length = ctx_length(ctx);

	barrier_var(length); /* or the compiler loses the bound that the verifier wants to see */
	if (!slot || length < ETH_HLEN || length > HOLD_FRAME)
		return false;
	slot->length = length;
	slot->side = side;
	return !ctx_load(ctx, 0, slot->frame, length);
}

/* Takes a slot: one that is empty or, where there is none, the oldest if it has waited long enough. */
static __always_inline __u32 hold_place(struct hold_set *set, __u64 busy, __u32 now)
{
	for (int tries = 0; tries < 2; tries++) {
		__u32 found = HOLD_WAYS, most = 0;
		__u64 word = 0;

		for (__u32 way = 0; way < HOLD_WAYS; way++) {
			__u64 old = *(volatile __u64 *)&set->word[way];
			__u32 age = (old & HOLD_STATE) == HOLD_FREE ? CONTEXT_TIME + 1 : hold_age(old, now);

			if (hold_is_free(old, now) && age > most) {
				found = way;
				most = age;
				word = old;
			}
		}
		if (found >= HOLD_WAYS || __sync_val_compare_and_swap(&set->word[found], word, busy) == word)
			return found;
	}
	return HOLD_WAYS;
}

/* Whether there is a slot: asked before what is dearer, so that a flood costs less. */
static __always_inline bool hold_has_room(__u64 tag, __u32 whose)
{
	__u32 place = hold_set(tag, whose), now = fragment_time();
	struct hold_set *set = bpf_map_lookup_elem(&fragment_holds, &place);

	for (__u32 way = 0; set && way < HOLD_WAYS; way++)
		if (hold_is_free(*(volatile __u64 *)&set->word[way], now))
			return true;
	return false;
}

enum hold {
	HOLD_NOT, /* there is no slot for it */
	HOLD_DONE,
	HOLD_OVERTOOK, /* the first fragment came meanwhile: it follows that one */
};

/* Holds the frame for the first fragment with the tag. */
__noinline enum hold fragment_hold(ctx_t *ctx, __u64 tag, __u32 whose, enum fragment_side side)
{
	__u32 place = hold_set(tag, whose), which = CARRIER_FRAGMENTS, now = fragment_time(), way;
	struct hold_set *set = bpf_map_lookup_elem(&fragment_holds, &place);
	__u32 *carrier = bpf_map_lookup_elem(&carrier_table, &which);
	__u64 busy = hold_word(tag, HOLD_BUSY, now), held = hold_word(tag, HOLD_HELD, now);

	if (!set || !carrier || !*carrier)
		return HOLD_NOT;
	way = hold_place(set, busy, now);
	if (way >= HOLD_WAYS)
		return HOLD_NOT;
	if (!hold_write(ctx, hold_slot(place, way), side)) {
		__sync_val_compare_and_swap(&set->word[way], busy, 0);
		return HOLD_NOT;
	}
	if (__sync_val_compare_and_swap(&set->word[way], busy, held) != busy)
		return HOLD_NOT;
	if (context_find(tag, whose) && __sync_val_compare_and_swap(&set->word[way], held, 0) == held)
		return HOLD_OVERTOOK;
	return HOLD_DONE;
}

/* Claims what is held for a first fragment; which ways of the set. */
static __always_inline __u8 hold_claim(__u64 tag, __u32 whose)
{
	__u32 place = hold_set(tag, whose), now = fragment_time();
	struct hold_set *set = bpf_map_lookup_elem(&fragment_holds, &place);
	__u8 ways = 0;

	for (__u32 way = 0; set && way < HOLD_WAYS; way++) {
		__u64 old = *(volatile __u64 *)&set->word[way];

		if (hold_is(old, tag, HOLD_HELD) && hold_age(old, now) <= HOLD_LIVES &&
		    __sync_val_compare_and_swap(&set->word[way], old, hold_word(tag, HOLD_CLAIMED, now)) == old)
			ways |= 1 << way;
	}
	return ways;
}

/* One of the claimed slots for the caller alone, in *way, and its word to give back; 0: there is none left. */
static __always_inline __u64 hold_take(struct hold_set *set, __u64 tag, __u8 ways, __u32 *way)
{
	__u32 now = fragment_time();

	for (*way = 0; *way < HOLD_WAYS; ++*way) {
		__u64 old = *(volatile __u64 *)&set->word[*way & (HOLD_WAYS - 1)];
		__u64 busy = hold_word(tag, HOLD_BUSY, now);

		if ((ways >> *way & 1) && hold_is(old, tag, HOLD_CLAIMED) &&
		    __sync_val_compare_and_swap(&set->word[*way & (HOLD_WAYS - 1)], old, busy) == old)
			return busy;
	}
	return 0;
}
