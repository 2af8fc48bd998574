/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counts for each address, in a table of fixed size: buckets of four entries, one cache line, four to choose from. No lock:
 * an entry is found, taken and given back by compare-and-swap of the word that holds both its address and what refers to
 * it. Who finds no place is not counted; the caller remembers who is, so that the counts are exact. Two CPUs that meet an
 * address at once may give it two entries: until one is empty it may have more than its limit.
 */
#pragma once

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#include "../trace/dry.h"
#include "limit_types.h"

#define TALLY_TRIES   8
#define TALLY_CHOICES 4
#define TALLY_RATE_AT 48 /* bits, in the word of the shares */
#define TALLY_SECOND  2	 /* 4 ticks, 1.07 s */

union tally_uses_word {
	struct tally_uses uses;
	__u64 word;
};

static __always_inline union tally_uses_word tally_uses_of(const struct tally *tally)
{
	return (union tally_uses_word){.word = *(const volatile __u64 *)&tally->uses};
}

/* The buckets of an address, by a hash of it: from 0 on, each for what has no room in those before. */
static __always_inline struct tally_bucket *tally_bucket(void *table, __u64 hash, __u32 buckets, int choice)
{
	__u32 number = (hash >> 10 * choice & 0xffffffff) * buckets >> 32;

	return bpf_map_lookup_elem(table, &number);
}

/* Reads its first bucket before it is needed. */
static __always_inline void tally_touch(void *table, __u64 hash, __u32 buckets)
{
	struct tally_bucket *bucket = tally_bucket(table, hash, buckets, 0);

	if (bucket)
		(void)*(volatile __u64 *)&bucket->tally[0].uses;
}

static __always_inline struct tally *bucket_tally(struct tally_bucket *bucket, __u32 address)
{
#pragma unroll
	for (int i = 0; bucket && i < TALLY_WAYS; i++)
		if ((__u32) * (volatile __u64 *)&bucket->tally[i].uses == address)
			return &bucket->tally[i];
	return 0;
}

/* Whether no address has ever been put into another bucket for lack of room in this one: it is filled from its front. */
static __always_inline bool bucket_has_room(struct tally_bucket *bucket)
{
	return bucket && !tally_uses_of(&bucket->tally[TALLY_WAYS - 1]).uses.address;
}

/* The entry of an address, one that nothing refers to as well; it may have gone to another when it is used. */
static __always_inline struct tally *tally_find(void *table, __u64 hash, __u32 buckets, __u32 address)
{
	for (int choice = 0; choice < TALLY_CHOICES; choice++) {
		struct tally_bucket *bucket = tally_bucket(table, hash, buckets, choice);
		struct tally *tally = bucket_tally(bucket, address);

		if (tally || bucket_has_room(bucket))
			return tally;
	}
	return 0;
}

/* More that refers to the address's entry, or less: change is not below what the caller has counted there. */
__noinline bool tally_change(struct tally *tally, __u32 address, __s32 change)
{
	if (!tally)
		return false;
	for (int tries = 0; tries < TALLY_TRIES; tries++) {
		union tally_uses_word old = tally_uses_of(tally), new = old;

		if (old.uses.address != address || (__s32)old.uses.count + change < 0)
			return false;
		new.uses.count += change;
		if (DRY || __sync_val_compare_and_swap(&tally->uses, old.word, new.word) == old.word)
			return true;
	}
	return false;
}

static __always_inline struct tally *bucket_take(struct tally_bucket *bucket, __u32 address, __u32 count)
{
	union tally_uses_word new = {.uses = {address, count}};

	for (int i = 0; bucket && i < TALLY_WAYS; i++) {
		union tally_uses_word old = tally_uses_of(&bucket->tally[i]);

		if (!old.uses.count &&
		    (DRY || __sync_val_compare_and_swap(&bucket->tally[i].uses, old.word, new.word) == old.word))
			return &bucket->tally[i];
	}
	return 0;
}

/* An entry for an address that has none, with so much that refers to it; 0 where there is no place. */
static __always_inline struct tally *tally_take(void *table, __u64 hash, __u32 buckets, __u32 address, __u32 count)
{
	for (int choice = 0; choice < TALLY_CHOICES; choice++) {
		struct tally *tally = bucket_take(tally_bucket(table, hash, buckets, choice), address, count);

		if (tally)
			return tally;
	}
	return 0;
}

/* Whether there is a place for an address that has none. */
static __always_inline bool tally_has_empty(void *table, __u64 hash, __u32 buckets)
{
	for (int choice = 0; choice < TALLY_CHOICES; choice++) {
		struct tally_bucket *bucket = tally_bucket(table, hash, buckets, choice);

		for (int i = 0; bucket && i < TALLY_WAYS; i++)
			if (!tally_uses_of(&bucket->tally[i]).uses.count)
				return true;
	}
	return false;
}

/* One less refers to the address's entry. */
static __always_inline bool tally_leave(void *table, __u64 hash, __u32 buckets, __u32 address)
{
	for (int choice = 0; choice < TALLY_CHOICES; choice++) {
		struct tally_bucket *bucket = tally_bucket(table, hash, buckets, choice);

		for (int i = 0; bucket && i < TALLY_WAYS; i++)
			if (tally_uses_of(&bucket->tally[i]).uses.address == address &&
			    tally_change(&bucket->tally[i], address, -1))
				return true;
	}
	return false;
}

/* The second that the tick is in, as an entry notes it. After 16 of them without a session an old one may look young. */
static __always_inline __u16 tally_second(__u32 tick)
{
	return (tick >> TALLY_SECOND) << 12;
}

/* New sessions in the tick's second. */
static __always_inline __u32 tally_rate(__u64 shares, __u32 tick)
{
	__u16 rate = shares >> TALLY_RATE_AT;

	return (rate & ~TALLY_RATE_MAX) == tally_second(tick) ? rate & TALLY_RATE_MAX : 0;
}

/* A new session, and a share more where there is one: 1 << its bit, else 0. */
static __always_inline void tally_note(struct tally *tally, __u64 share, __u32 tick)
{
	const __u64 rates = 0xffffULL << TALLY_RATE_AT, one = 1ULL << TALLY_RATE_AT;
	__u64 old = *(volatile __u64 *)&tally->shares, add = share + one;
	__u16 rate = old >> TALLY_RATE_AT;

	if (DRY)
		return;
	if ((rate & ~TALLY_RATE_MAX) != tally_second(tick)) {
		__u64 fresh = (__u64)(tally_second(tick) | 1) << TALLY_RATE_AT;

		if (__sync_val_compare_and_swap(&tally->shares, old, ((old & ~rates) | fresh) + share) == old)
			return;
	} else if ((rate & TALLY_RATE_MAX) == TALLY_RATE_MAX) {
		add = share;
	}
	__sync_fetch_and_add(&tally->shares, add);
}

/* A share less, if the entry has one. */
__noinline bool tally_return(struct tally *tally, __u32 bit)
{
	if (!tally)
		return false;
	for (int tries = 0; tries < TALLY_TRIES; tries++) {
		__u64 old = *(volatile __u64 *)&tally->shares;

		if (!(old >> bit & 0xffff))
			return false;
		if (DRY || __sync_val_compare_and_swap(&tally->shares, old, old - (1ULL << bit)) == old)
			return true;
	}
	return false;
}
