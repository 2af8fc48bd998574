/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * SipHash-2-4 (Aumasson, Bernstein 2012): a keyed hash of 64 bits that nobody without the key can foresee. Words are
 * little-endian, as this machine's are; the last one has the length of all in its high octet.
 */
#pragma once

#include <linux/types.h>

struct siphash {
	__u64 v[4];
};

static __always_inline void siphash_round(struct siphash *s)
{
	s->v[0] += s->v[1];
	s->v[1] = (s->v[1] << 13 | s->v[1] >> 51) ^ s->v[0];
	s->v[0] = s->v[0] << 32 | s->v[0] >> 32;
	s->v[2] += s->v[3];
	s->v[3] = (s->v[3] << 16 | s->v[3] >> 48) ^ s->v[2];
	s->v[0] += s->v[3];
	s->v[3] = (s->v[3] << 21 | s->v[3] >> 43) ^ s->v[0];
	s->v[2] += s->v[1];
	s->v[1] = (s->v[1] << 17 | s->v[1] >> 47) ^ s->v[2];
	s->v[2] = s->v[2] << 32 | s->v[2] >> 32;
}

static __always_inline struct siphash siphash_begin(const __u64 *key)
{
	return (struct siphash){{
		key[0] ^ 0x736f6d6570736575ULL,
		key[1] ^ 0x646f72616e646f6dULL,
		key[0] ^ 0x6c7967656e657261ULL,
		key[1] ^ 0x7465646279746573ULL,
	}};
}

static __always_inline void siphash_word(struct siphash *s, __u64 word)
{
	s->v[3] ^= word;
	siphash_round(s);
	siphash_round(s);
	s->v[0] ^= word;
}

static __always_inline __u64 siphash_end(struct siphash *s, __u64 last)
{
	siphash_word(s, last);
	s->v[2] ^= 0xff;
	siphash_round(s);
	siphash_round(s);
	siphash_round(s);
	siphash_round(s);
	return s->v[0] ^ s->v[1] ^ s->v[2] ^ s->v[3];
}
