/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Indexes: 64-byte buckets of sixteen tagged record numbers, two buckets to choose from. An index knows no keys:
 * the caller compares the record. Slots are claimed and cleared by compare-and-swap; whoever inserts holds the
 * stripe of its key, so one key is never inserted twice at a time.
 */
#pragma once

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#include "../include/maps.h"

/* Where a key may stand. */
struct place {
	__u32 first;
	__u32 second;
	__u32 tag; /* in the high bits, the record's bits are 0 */
};

static __always_inline __u64 hash_words(__u64 a, __u64 b)
{
	__u64 hash = (a ^ fixed.seed[0]) * 0x9fb21c651e98df25ULL;

	hash ^= hash >> 32;
	hash = (hash + (b ^ fixed.seed[1])) * 0xd6e8feb86659fd93ULL;
	hash ^= hash >> 29;
	hash *= 0x9fb21c651e98df25ULL;
	return hash ^ hash >> 32;
}

static __always_inline struct place index_place(__u64 hash, __u32 buckets, __u32 bits)
{
	struct place place = {
		.first = (hash >> 32) * buckets >> 32,
		.second = (hash & 0xffffffff) * buckets >> 32,
		.tag = (__u32)(hash * 0xd6e8feb86659fd93ULL >> 32) >> bits << bits,
	};
	return place;
}

/*
 * Whether the record is what is sought. All but that of sessions calls a function of its own: what it has itself the kernel
 * verifies for each slot, but a call takes a packet 10 ns.
 */
typedef bool (*index_match)(__u32 record, const void *key);

static __always_inline __u32 bucket_find(struct bucket *bucket, __u32 tag, __u32 bits, index_match match,
					 const void *key)
{
	__u32 mask = (1U << bits) - 1;

	/* Unrolled it would have match, with its lookups, 32 times: the kernel copies the program for each lookup. */
#pragma clang loop unroll(disable)
	for (int i = 0; i < INDEX_SLOTS; i++) {
		__u32 slot = *(volatile __u32 *)&bucket->slot[i];

		if ((slot & ~mask) == tag && (slot & mask) && match(slot & mask, key))
			return slot & mask;
	}
	return 0;
}

/* The record that matches, or 0. */
static __always_inline __u32 index_find(void *index, struct place place, __u32 bits, index_match match, const void *key)
{
	struct bucket *bucket = bpf_map_lookup_elem(index, &place.first);
	__u32 record;

	if (!bucket)
		return 0;
	record = bucket_find(bucket, place.tag, bits, match, key);
	if (record || place.first == place.second)
		return record;
	bucket = bpf_map_lookup_elem(index, &place.second);
	return bucket ? bucket_find(bucket, place.tag, bits, match, key) : 0;
}

/* Reads both buckets before they are needed. */
static __always_inline void index_touch(void *index, struct place place)
{
	struct bucket *first = bpf_map_lookup_elem(index, &place.first);
	struct bucket *second = bpf_map_lookup_elem(index, &place.second);

	if (first)
		(void)*(volatile __u32 *)&first->slot[0];
	if (second)
		(void)*(volatile __u32 *)&second->slot[0];
}

static __always_inline int bucket_used(struct bucket *bucket)
{
	int used = 0;

	/* Without branches: sixteen of them would be 65,536 paths to verify. */
#pragma unroll
	for (int i = 0; i < INDEX_SLOTS; i++) {
		__u64 slot = bucket->slot[i];

		barrier_var(slot);
		used += -slot >> 63;
	}
	return used;
}

__noinline bool bucket_insert(struct bucket *bucket, __u32 slot)
{
	if (!bucket)
		return false;
	for (int i = 0; i < INDEX_SLOTS; i++)
		if (bucket->slot[i] == 0 && __sync_val_compare_and_swap(&bucket->slot[i], 0, slot) == 0)
			return true;
	return false;
}

/* The first bucket until it is fairly full: most keys are then found with one cache line. */
#define BUCKET_FAIRLY_FULL 10

/* False when both buckets are full. */
static __always_inline bool index_insert(void *index, struct place place, __u32 record)
{
	struct bucket *first = bpf_map_lookup_elem(index, &place.first);
	struct bucket *second = bpf_map_lookup_elem(index, &place.second);
	__u32 slot = place.tag | record;
	int used;

	if (!first || !second)
		return false;
	if (DRY)
		return true;
	used = bucket_used(first);
	if (used > BUCKET_FAIRLY_FULL && bucket_used(second) < used)
		return bucket_insert(second, slot) || bucket_insert(first, slot);
	return bucket_insert(first, slot) || bucket_insert(second, slot);
}

__noinline bool bucket_remove(struct bucket *bucket, __u32 slot)
{
	if (!bucket)
		return false;
	for (int i = 0; i < INDEX_SLOTS; i++)
		if (bucket->slot[i] == slot && __sync_val_compare_and_swap(&bucket->slot[i], slot, 0) == slot)
			return true;
	return false;
}

static __always_inline void index_remove(void *index, struct place place, __u32 record)
{
	struct bucket *bucket = bpf_map_lookup_elem(index, &place.first);
	__u32 slot = place.tag | record;

	if (DRY)
		return;
	if (bucket && bucket_remove(bucket, slot))
		return;
	bucket = bpf_map_lookup_elem(index, &place.second);
	if (bucket)
		bucket_remove(bucket, slot);
}
