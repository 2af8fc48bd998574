/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Internet checksums (RFC 1071) and their incremental update (RFC 1624). A delta is the ones' complement sum of
 * the new words minus the old ones; applied inverted it goes the other way.
 */
#pragma once

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "../include/ctx.h"

static __always_inline __u16 checksum_fold(__u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static __always_inline __u16 checksum_delta(__u32 from, __u32 to)
{
	return checksum_fold((__u64)(~from) + to);
}

static __always_inline __u16 checksum_add(__u16 a, __u16 b)
{
	return checksum_fold((__u64)a + b);
}

/* The checksum field after its data changed by delta. */
static __always_inline __u16 checksum_update(__u16 field, __u16 delta)
{
	return ~checksum_fold((__u64)(__u16)~field + delta);
}

#define CHECKSUM_CHUNK	128
#define CHECKSUM_CHUNKS 512 /* 64 KiB: any IP packet */

struct checksum_walk {
	ctx_t *ctx;
	__u32 offset;
	__u32 left;
	__u64 sum;
};

static long checksum_chunk(__u32 round, struct checksum_walk *walk)
{
	__u8 chunk[CHECKSUM_CHUNK] = {};
	__u32 length = walk->left;

	if (length > sizeof(chunk))
		length = sizeof(chunk);
	if (length == 0)
		return 1;
	if (ctx_load(walk->ctx, walk->offset, chunk, length)) {
		walk->sum = ~0ULL;
		return 1;
	}
	/* The zeros behind an odd or short tail do not change the sum. */
	walk->sum += (__u32)bpf_csum_diff(0, 0, (__be32 *)chunk, sizeof(chunk), 0);
	walk->offset += length;
	walk->left -= length;
	return 0;
}

/* Adds up length bytes at offset; seed is a sum to begin with. Slow: for rare packets only. */
__noinline __u16 checksum_bytes(ctx_t *ctx, __u32 offset, __u32 length, __u32 seed)
{
	struct checksum_walk walk = {.ctx = ctx, .offset = offset, .left = length, .sum = seed};

	bpf_loop(CHECKSUM_CHUNKS, checksum_chunk, &walk, 0);
	return checksum_fold(walk.sum);
}
