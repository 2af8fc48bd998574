/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Budgets of the whole gateway: so much in a tick, whichever CPUs the packets come to, or so much at a steady pace. Each is
 * one word of a table, compared and swapped.
 */
#pragma once

#include "clock.h"

struct spending {
	__u32 tick;
	__u32 count;
};

/* How much of it is spent in this tick. */
static __always_inline __u32 budget_spent(const __u64 *budget)
{
	union {
		__u64 word;
		struct spending spending;
	} now = {.word = *(const volatile __u64 *)budget};

	return now.spending.tick == clock_tick() ? now.spending.count : 0;
}

/* Spends some of most; false where they are spent, or other CPUs come first time and again. */
static __always_inline bool budget_spend_some(__u64 *budget, __u32 most, __u32 some)
{
	__u32 tick = clock_tick();

	for (int tries = 0; budget && tries < 4; tries++) {
		union {
			__u64 word;
			struct spending spending;
		} old = {.word = *(volatile __u64 *)budget}, new = old;

		if (old.spending.tick != tick) {
			new.spending.tick = tick;
			new.spending.count = 0;
		}
		if (new.spending.count >= most)
			return false;
		new.spending.count += some;
		if (__sync_val_compare_and_swap(budget, old.word, new.word) == old.word)
			return true;
	}
	return false;
}

static __always_inline bool budget_spend(__u64 *budget, __u32 most)
{
	return budget_spend_some(budget, most, 1);
}

/*
 * Spends one of rate a second, where the budget is the time until which it is spent, CLOCK_MONOTONIC, at most burst ns ahead
 * (a leaky bucket). False as above.
 */
static __always_inline bool budget_pace(__u64 *budget, __u64 rate, __u64 burst)
{
	__u64 now = bpf_ktime_get_coarse_ns();

	for (int tries = 0; budget && tries < 4; tries++) {
		__u64 old = *(volatile __u64 *)budget, spent = old > now ? old : now;

		spent += 1000000000ULL / rate;
		if (spent - now > burst)
			return false;
		if (__sync_val_compare_and_swap(budget, old, spent) == old)
			return true;
	}
	return false;
}
