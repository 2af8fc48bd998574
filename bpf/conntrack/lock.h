/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stripes of locks over internal endpoints. Whatever is opened or ended for one (private address, port, protocol)
 * - mapping, session, filter entry, claim - happens under its stripe, so exactly one of two concurrent packets
 * opens, and the other finds it open. Packets of open sessions take no lock. Holders run with preemption off
 * and never wait; taking a stripe gives up after a bounded time.
 */
#pragma once

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "../include/maps.h"

#define LOCK_TRIES (1 << 15) /* about a millisecond: the holder may be interrupted, or its virtual CPU be stolen */

static __always_inline struct stripe *lock_stripe(__u64 hash)
{
	__u32 number = hash & (LOCKS - 1);

	return bpf_map_lookup_elem(&locks, &number);
}

/*
 * The stripe of a client of a binding, under which it becomes known: taken behind that of an endpoint, never before it.
 */
static __always_inline struct stripe *lock_client(__u64 hash)
{
	__u32 number = LOCKS + (hash & (CLIENT_LOCKS - 1));

	return bpf_map_lookup_elem(&locks, &number);
}

static long lock_try(__u32 round, __u32 **held)
{
	return __sync_val_compare_and_swap(*held, 0, 1) == 0;
}

__noinline bool lock_wait(struct stripe *stripe)
{
	__u32 *held;

	if (!stripe)
		return false;
	held = &stripe->held;
	return bpf_loop(LOCK_TRIES, lock_try, &held, 0) < LOCK_TRIES;
}

static __always_inline bool lock_take(struct stripe *stripe)
{
	if (__sync_val_compare_and_swap(&stripe->held, 0, 1) == 0)
		return true;
	return lock_wait(stripe);
}

static __always_inline void lock_release(struct stripe *stripe)
{
	__sync_lock_test_and_set(&stripe->held, 0); /* a full barrier in BPF */
}
