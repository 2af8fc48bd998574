/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which session records are in use: a bit for each. Whoever sets a record's bit has it alone. A session would stand
 * in its bucket, neighbouring records that its tuple names (record_bucket.h); where all are taken it stands anywhere.
 * Whoever fills the table from one side leaves the other side's reserve: uses are counted by side, on each CPU, which
 * tells the others when it has counted RESERVE_STEPS of them for the reserve.
 */
#pragma once

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#include "../include/bits.h"
#include "../include/maps.h"
#include "threshold.h"

#define RECORD_NONE 0 /* record 0 is nobody's */

#define RESERVE_STEPS 1024

/* Where uses have the count of a side; the verifier does not know what a bool can be. */
static __always_inline __s32 *record_side(struct record_uses *uses, bool inside)
{
	__u64 side = inside;

	barrier_var(side);
	return &uses->of[side & 1];
}

/* inside: opened from there. More records in use, or less. */
static __always_inline void record_count(bool inside, __s32 change)
{
	__s32 step = fixed.reserve / RESERVE_STEPS, here;
	struct record_uses *uses;
	__u32 zero = 0;

	if (DRY || !fixed.reserve)
		return;
	uses = bpf_map_lookup_elem(&record_uses_here, &zero);
	if (!uses)
		return;
	here = __sync_fetch_and_add(record_side(uses, inside), change) + change;
	if (here < step && here > -step)
		return;
	here = __sync_lock_test_and_set(record_side(uses, inside), 0);
	uses = bpf_map_lookup_elem(&record_uses, &zero);
	if (uses)
		__sync_fetch_and_add(record_side(uses, inside), here);
}

/* Whether all that is left is the other side's. */
static __always_inline bool record_is_kept(bool inside)
{
	__u32 zero = 0;
	struct record_uses *uses;

	if (!fixed.reserve)
		return false;
	uses = bpf_map_lookup_elem(&record_uses, &zero);
	return uses && *(volatile __s32 *)record_side(uses, inside) >= (__s32)(fixed.capacity - fixed.reserve);
}

/* The records that a side may have; where the other one has more than its reserve there are less. */
static __always_inline struct room record_room(bool inside)
{
	__u32 most = fixed.capacity - fixed.reserve, zero = 0;
	struct record_uses *uses;
	__s32 used, others;

	if (!fixed.reserve)
		return (struct room){most, most};
	uses = bpf_map_lookup_elem(&record_uses, &zero);
	if (!uses)
		return (struct room){most, most};
	used = *(volatile __s32 *)record_side(uses, inside);
	others = *(volatile __s32 *)record_side(uses, !inside) - (__s32)fixed.reserve;
	if (others > 0)
		used += others;
	if (used < 0) /* CPUs tell late */
		used = 0;
	return (struct room){most, (__u32)used < most ? most - used : 0};
}

static __always_inline struct session *session_at(__u32 number)
{
	return bpf_map_lookup_elem(&session_table, &number);
}

/* The same of one that the packet may have opened. */
static __always_inline struct session *session_entered(__u32 number)
{
	return DRY && number == DRY_RECORD ? dry_record() : session_at(number);
}

/* Bits of a word that stand for no record: record 0, and those behind the last one. */
static __always_inline __u64 record_holes(__u32 word)
{
	__u32 last = fixed.capacity;

	if (word == last / 64 && (last & 63) != 63)
		return ~0ULL << ((last & 63) + 1) | !word;
	return word < last / 64 ? !word : ~0ULL;
}

static __always_inline bool record_claim(__u32 number)
{
	__u32 word = number / 64;
	__u64 bit = 1ULL << (number & 63);
	__u64 *used = bpf_map_lookup_elem(&session_bitmap, &word);

	if (DRY)
		return used && !((record_holes(word) | *(volatile __u64 *)used) & bit);
	return used && !(record_holes(word) & bit) && !(__sync_fetch_and_or(used, bit) & bit);
}

/* Gives records of a word back. */
static __always_inline void record_release_some(__u32 word, __u64 bits)
{
	__u32 zero = 0;
	__u64 *used = bpf_map_lookup_elem(&session_bitmap, &word);
	struct record_search *search = bpf_map_lookup_elem(&record_searches, &zero);

	if (DRY || !used || !search)
		return;
	__sync_fetch_and_and(used, ~bits);
	__sync_fetch_and_add(&search->released, 1);
}

static __always_inline void record_release(__u32 number, bool inside)
{
	record_release_some(number / 64, 1ULL << (number & 63));
	record_count(inside, -1);
}

/* A free record of the word, claimed; RECORD_NONE where there is none. */
static __always_inline __u32 record_of_word(__u32 word)
{
	__u64 *used = bpf_map_lookup_elem(&session_bitmap, &word);

	for (int tries = 0; used && tries < 4; tries++) {
		__u64 taken = *(volatile __u64 *)used | record_holes(word);
		__u32 bit = lowest_clear(taken) & 63;

		if (taken == ~0ULL)
			break;
		if (DRY || !(__sync_fetch_and_or(used, 1ULL << bit) & 1ULL << bit))
			return word * 64 + bit;
	}
	return RECORD_NONE;
}

struct record_walk {
	__u32 words;
	__u32 start;
	__u32 record;
};

static long record_walk_word(__u32 round, struct record_walk *walk)
{
	__u32 word = walk->start + round;

	walk->record = record_of_word(word < walk->words ? word : word - walk->words);
	return walk->record != RECORD_NONE;
}

/*
 * Any free record, from where one was found last. A walk in vain is not repeated before a record is released: a
 * full table refuses at once.
 */
__noinline __u32 record_anywhere(void)
{
	__u32 zero = 0;
	struct record_search *search = bpf_map_lookup_elem(&record_searches, &zero);
	struct record_walk walk = {.words = fixed.capacity / 64 + 1};
	__u32 released;

	if (!search)
		return RECORD_NONE;
	released = *(volatile __u32 *)&search->released;
	if (search->in_vain == released + 1)
		return RECORD_NONE;
	walk.start = search->word;
	if (walk.start >= walk.words)
		walk.start = 0;
	bpf_loop(walk.words, record_walk_word, &walk, 0);
	if (DRY)
		return walk.record;
	if (walk.record)
		search->word = walk.record / 64;
	else
		search->in_vain = released + 1;
	return walk.record;
}

/* Reads the bits of a bucket's page before they are needed. */
static __always_inline void record_touch(__u32 bucket)
{
	__u32 word = bucket / PAGE_BUCKETS;
	__u64 *used = bpf_map_lookup_elem(&session_bitmap, &word);

	if (used)
		(void)*(volatile __u64 *)used;
}

static __always_inline __u32 record_of_bucket(__u32 bucket)
{
	for (int i = 0; i < BUCKET_RECORDS; i++) {
		__u32 number = bucket * BUCKET_RECORDS + i;
		struct session *session = session_at(number);

		if (session && session->life.as.phase == PHASE_FREE && record_claim(number))
			return number;
	}
	return RECORD_NONE;
}

/* A free record, claimed: of a bucket if it can be, else of their page; RECORD_NONE when all are in use that it may have. */
__noinline __u32 record_allocate(__u32 first, __u32 second, bool inside)
{
	__u32 number;

	if (record_is_kept(inside))
		return RECORD_NONE;
	number = record_of_bucket(first);
	if (!number)
		number = record_of_bucket(second);
	if (!number)
		number = record_of_word(first / PAGE_BUCKETS);
	if (!number)
		number = record_anywhere();
	if (number)
		record_count(inside, 1);
	return DRY && number ? DRY_RECORD : number;
}
