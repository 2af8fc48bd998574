/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Words of bits. Pure: no map.
 */
#pragma once

#include <linux/types.h>

/*
 * The lowest clear bit of a word that has one: the number of ones below it. Without branches, which would be as
 * many paths to verify.
 */
static inline __attribute__((always_inline)) __u32 lowest_clear(__u64 word)
{
	word &= ~(word + 1);
	word -= word >> 1 & 0x5555555555555555ULL;
	word = (word & 0x3333333333333333ULL) + (word >> 2 & 0x3333333333333333ULL);
	word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	return word * 0x0101010101010101ULL >> 56;
}

/* Mixes a word into a hash: a multiplication for each half, with a fold between. */
static inline __attribute__((always_inline)) __u64 mix_word(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0xbf58476d1ce4e5b9ULL;
	hash ^= hash >> 27;
	hash *= 0x94d049bb133111ebULL;
	return hash ^ hash >> 31;
}
