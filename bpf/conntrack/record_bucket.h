/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where a session stands: in one of two buckets, each BUCKET_RECORDS neighbouring records, in one page of memory. Inside
 * tuple and outside tuple name the same buckets where the mapping has kept the inside port, so that a packet of either
 * direction finds its session with one wait for memory. A session whose buckets are both taken stands anywhere and is
 * found by the index. Each first bucket counts the sessions that overflowed it: where there are none, the index
 * need not be asked.
 */
#pragma once

#include "index.h"
#include "../packet/packet.h"
#include "record.h"
#include "../nat/slot.h"

/* By which of its tuples a session is sought. */
enum key_side {
	KEY_INSIDE = 1, /* local is the private endpoint */
	KEY_OUTSIDE,	/* local is the external endpoint; sessions that session_is_listed_outside() names only */
	KEY_FILTER,	/* local is the private endpoint, any remote port; owners of a filter entry only */
	KEY_GUEST,	/* local is the web address, any remote port; owners of a guest entry only, guest.h */
};

struct session_key {
	__u32 local;
	__u32 remote;
	__u16 local_port;
	__u16 remote_port;
	__u8 protocol;
	__u8 side;
};

/* group: of the host's share, which is that of its outbound address, too. */
static __always_inline struct record_buckets record_buckets_of(__u32 group, __u16 port, __u32 remote, __u16 remote_port,
							       __u8 protocol)
{
	__u64 hash =
		hash_words((__u64)group << 32 | remote, (__u64)port << 32 | (__u32)remote_port << 16 | protocol << 8);
	__u32 first = (hash >> 32) * (fixed.capacity / BUCKET_RECORDS + 1) >> 32;

	return (struct record_buckets){
		.first = first, .second = first ^ (hash % PAGE_BUCKETS | 1), /* another of the page */
	};
}

static __always_inline struct record_buckets record_buckets_inside(const struct session_key *key)
{
	return record_buckets_of(group_of(key->local), key->local_port, key->remote, key->remote_port, key->protocol);
}

static __always_inline struct record_buckets record_buckets_outside(const struct tuple *tuple, __u32 group)
{
	return record_buckets_of(group, tuple->destination_port, tuple->source, tuple->source_port, tuple->protocol);
}

/* The records of both buckets, from 0 to 2 * BUCKET_RECORDS - 1. */
static __always_inline __u32 record_buckets_record(struct record_buckets buckets, __u32 place)
{
	return (place < BUCKET_RECORDS ? buckets.first : buckets.second) * BUCKET_RECORDS + place % BUCKET_RECORDS;
}

static __always_inline bool record_buckets_hold(struct record_buckets buckets, __u32 number)
{
	return number / BUCKET_RECORDS == buckets.first || number / BUCKET_RECORDS == buckets.second;
}

/* One session more, or less, that overflowed the bucket. They may come under different stripes. */
static __always_inline void record_bucket_overflow(__u32 bucket, int change)
{
	struct session *first = session_at(bucket * BUCKET_RECORDS);

	if (!first)
		return;
	for (int tries = 0; tries < 16; tries++) {
		union marks old = {.word = *(volatile __u32 *)&first->marks.word}, new = old;

		if (old.as.overflow == OVERFLOW_MOST)
			return;
		new.as.overflow += change;
		if (__sync_val_compare_and_swap(&first->marks.word, old.word, new.word) == old.word)
			return;
	}
	/* A count too low would hide a session; one too high only costs time. */
	if (change > 0)
		*(volatile __u8 *)&first->marks.as.overflow = OVERFLOW_MOST;
}

/*
 * Whether an open session of the inside tuple stands here. The phase is read first: a record is filled before it
 * is live, and what is left of its last use must not meet the phase of the next.
 */
static __always_inline bool record_is_inside(const struct session *session, const struct session_key *key)
{
	__u64 differs = *(const volatile __u8 *)&session->life.as.phase ^ PHASE_LIVE;

	barrier();
	differs |= session->private_address ^ key->local;
	differs |= session->remote_address ^ key->remote;
	differs |= session->private_port ^ key->local_port;
	differs |= session->remote_port ^ key->remote_port;
	differs |= session->protocol ^ key->protocol;
	return !differs;
}

static __always_inline bool record_is_outside(const struct session *session, const struct tuple *tuple)
{
	__u64 differs = *(const volatile __u8 *)&session->life.as.phase ^ PHASE_LIVE;

	barrier();
	differs |= session->external_address ^ tuple->destination;
	differs |= session->remote_address ^ tuple->source;
	differs |= session->external_port ^ tuple->destination_port;
	differs |= session->remote_port ^ tuple->source_port;
	differs |= session->protocol ^ tuple->protocol;
	return !differs;
}
