/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Remote addresses that had a session lately. Only theirs are fragments from outside that are held (fragment/hold.h), so
 * that who forges addresses at random takes no slot.
 */
#pragma once

#include "index.h"

#define SEEN_SHIFT 34
#define SEEN_LIVES 419 /* 2 h: as long as an established connection may be silent */

static __always_inline __u16 seen_time(void)
{
	return bpf_ktime_get_coarse_ns() >> SEEN_SHIFT | 1; /* 0: never */
}

static __always_inline __u16 *seen_at(__u32 remote)
{
	__u64 hash = hash_words(remote, 2);
	__u32 place = hash & (SEEN_BUCKETS - 1);
	struct seen_bucket *bucket = bpf_map_lookup_elem(&remotes_seen, &place);

	return bucket ? &bucket->time[hash >> 32 & (SEEN_ENTRIES - 1)] : 0;
}

static __always_inline void remote_see(__u32 remote)
{
	__u16 *seen = seen_at(remote), now = seen_time();

	if (!DRY && seen && *seen != now)
		*seen = now;
}

/* Reads what remote_see will. */
static __always_inline void seen_touch(__u32 remote)
{
	__u16 *seen = seen_at(remote);

	if (seen)
		(void)*(volatile __u16 *)seen;
}

static __always_inline bool remote_was_seen(__u32 remote)
{
	__u16 *seen = seen_at(remote), when = seen ? *(volatile __u16 *)seen : 0;

	return when && (__u16)(seen_time() - when) <= SEEN_LIVES;
}
