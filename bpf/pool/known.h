/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Known clients: who has proved that it uses a binding may open further sessions without a claim, as many of TCP as
 * the limit says and as many of all other protocols, until KNOWN_TICKS after the last of them was opened or ended. An
 * entry names the binding by its number: it is void when the binding has gone to another. One with sessions is never
 * given away; a full table makes nobody known, and counts it. A client is entered under its lock (lock_client).
 */
#pragma once

#include "../include/clock.h"
#include "../conntrack/index.h"
#include "../conntrack/lock.h"

#define KNOWN_WAYS  4	 /* entries of a bucket: one cache line */
#define KNOWN_TICKS 1118 /* 300 s */
#define KNOWN_TAKEN (~0ULL)

enum known_answer {
	KNOWN_NOT,
	KNOWN_JOINED,
	KNOWN_LIMIT, /* as many of its sessions stand as may */
};

static __always_inline struct known *known_at(__u32 number)
{
	return bpf_map_lookup_elem(&known_table, &number);
}

static __always_inline __u64 known_word(__u32 client, __u32 number)
{
	union {
		struct known_key key;
		__u64 word;
	} u = {.key = {client, number}};

	return u.word;
}

union known_life_word {
	struct known_life life;
	__u64 word;
};

static __always_inline union known_life_word known_life_of(const struct known *known)
{
	return (union known_life_word){.word = *(const volatile __u64 *)&known->life};
}

static __always_inline bool known_is_over(struct known_life life, __u32 tick)
{
	return !life.tcp && !life.others && (__s32)(tick - life.stamp) > KNOWN_TICKS;
}

/* The count that a session of the protocol is in. */
static __always_inline __u16 known_sessions(struct known_life life, __u8 protocol)
{
	return protocol == IPPROTO_TCP ? life.tcp : life.others;
}

static __always_inline void known_count(struct known_life *life, __u8 protocol, int change)
{
	if (protocol == IPPROTO_TCP)
		life->tcp += change;
	else
		life->others += change;
}

static __always_inline __u64 known_hash(__u32 client, __u32 number)
{
	return hash_words(client, number);
}

/* Place number way, 0 to 2 * KNOWN_WAYS - 1, of those that the client's entry may have. */
static __always_inline __u32 known_place(__u64 hash, __u32 way)
{
	__u32 half = way < KNOWN_WAYS ? hash >> 32 : hash & 0xffffffff;

	return ((__u64)half * fixed.known_buckets >> 32) * KNOWN_WAYS + way % KNOWN_WAYS;
}

/* The place of the client's entry and 1, or 0. */
__noinline __u32 known_find(__u32 client, __u32 number)
{
	__u64 wanted = known_word(client, number), hash = known_hash(client, number);
	__u32 tick = clock_tick();

	for (int way = 0; way < 2 * KNOWN_WAYS; way++) {
		__u32 place = known_place(hash, way);
		struct known *known = known_at(place);
		union known_life_word life;

		if (!known || *(volatile __u64 *)&known->key != wanted)
			continue;
		life = known_life_of(known);
		if (life.word != KNOWN_TAKEN && !known_is_over(life.life, tick))
			return place + 1;
	}
	return 0;
}

/* One session more of a known client. */
__noinline enum known_answer known_join(__u32 client, __u32 number, __u8 protocol, __u32 most)
{
	__u32 place = known_find(client, number), tick = clock_tick();
	struct known *known = known_at(place - 1);
	__u16 sessions;

	if (!place || !known)
		return KNOWN_NOT;
	for (int tries = 0; tries < 16; tries++) {
		union known_life_word old = known_life_of(known), new = old;

		/* The key behind the life: if it changes hands meanwhile, then the life changes, too. */
		barrier();
		if (old.word == KNOWN_TAKEN || known_is_over(old.life, tick) ||
		    *(volatile __u64 *)&known->key != known_word(client, number))
			return KNOWN_NOT;
		sessions = known_sessions(old.life, protocol);
		if (sessions >= most || sessions == 0xffff)
			return KNOWN_LIMIT;
		known_count(&new.life, protocol, 1);
		new.life.stamp = tick;
		if (DRY || __sync_val_compare_and_swap(&known->life, old.word, new.word) == old.word)
			return KNOWN_JOINED;
	}
	return KNOWN_LIMIT;
}

/* One session less. */
__noinline int known_leave(__u32 client, __u32 number, __u8 protocol)
{
	__u32 place = known_find(client, number), tick = clock_tick();
	struct known *known = known_at(place - 1);

	for (int tries = 0; place && known && tries < 16; tries++) {
		union known_life_word old = known_life_of(known), new = old;

		if (old.word == KNOWN_TAKEN || !known_sessions(old.life, protocol))
			break;
		known_count(&new.life, protocol, -1);
		new.life.stamp = tick;
		if (DRY || __sync_val_compare_and_swap(&known->life, old.word, new.word) == old.word)
			return 1;
	}
	return 0;
}

/* Takes an entry that is nobody's any more. */
static __always_inline bool known_take(struct known *known, __u64 key, __u8 protocol, __u32 tick)
{
	union known_life_word old = known_life_of(known), new = {};

	if (old.word == KNOWN_TAKEN || (*(volatile __u64 *)&known->key && !known_is_over(old.life, tick)))
		return false;
	if (__sync_val_compare_and_swap(&known->life, old.word, KNOWN_TAKEN) != old.word)
		return false;
	__sync_lock_test_and_set(&known->key, key);
	known_count(&new.life, protocol, 1);
	new.life.stamp = tick;
	__sync_lock_test_and_set(&known->life, new.word);
	return true;
}

/* Makes a client known, with one session; under its lock, and only where known_join says that it is not. */
__noinline bool known_add(__u32 client, __u32 number, __u8 protocol)
{
	__u64 key = known_word(client, number), hash = known_hash(client, number);
	__u32 tick = clock_tick();

	for (int way = 0; way < 2 * KNOWN_WAYS; way++) {
		struct known *known = known_at(known_place(hash, way));

		if (known && known_take(known, key, protocol, tick))
			return true;
	}
	count_statistic(STATISTIC_KNOWN_FULL);
	return false;
}
