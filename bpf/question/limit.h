/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How many questions reach the daemon: of a network and in all, of those who have proved their address and of those
 * who have not. A budget is the time until which it is spent (a leaky bucket), at most a second ahead, in one word.
 */
#pragma once

#include "../conntrack/index.h"
#include "../include/budget.h"

#define QUESTION_SECOND	    1000000000ULL
#define QUESTION_NETWORK    bpf_htonl(0xffffff00) /* a /24 */
#define QUESTIONS_UNPROVED  64			  /* a second, of a network; networks of one hash share it */
#define QUESTIONS_UNPROVEDS 512			  /* in all */
#define QUESTIONS_PROVED    4096
#define QUESTIONS_PROVEDS   16384

static __always_inline bool question_pay(__u32 place, __u64 rate)
{
	return budget_pace(bpf_map_lookup_elem(&answer_budgets, &place), rate, QUESTION_SECOND);
}

/* The network first, so that one that has spent its own takes nothing from the others. */
__noinline bool question_is_paid(__u32 asker, bool proved)
{
	__u32 first = QUESTION_BUDGETS + (proved ? 1 + QUESTION_NETWORKS : 0);
	__u32 place = first + 1 + (hash_words(asker & QUESTION_NETWORK, 0) & (QUESTION_NETWORKS - 1));

	if (!question_pay(place, proved ? QUESTIONS_PROVED : QUESTIONS_UNPROVED))
		return false;
	return question_pay(first, proved ? QUESTIONS_PROVEDS : QUESTIONS_UNPROVEDS);
}
