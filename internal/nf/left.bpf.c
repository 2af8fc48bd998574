// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a function of a user's own has before it and leaves: the description of the packet, and the packet's headers. Programs take
 * it before and after such a function; where it differs the function has changed what it may not. The sum is no secret: it finds
 * what happens, and nobody outside says what a function does.
 */

//go:build ignore

#include <stdbool.h>

#include "ctx.h"
#include "nf.h"

enum left_limit {
	LEFT_LANES = 4,	  /* sums that do not wait for each other */
	LEFT_WHOLE = 64,  /* octets that are taken at once where the frame has them: Ethernet, IPv4 and TCP */
	LEFT_HEADERS = 96 /* octets in all: IPv4's options, too */
};

struct left {
	__u64 lane[LEFT_LANES];
};

static __always_inline void left_take(struct left *left, int place, __u64 word)
{
	__u64 *lane = &left->lane[place % LEFT_LANES];

	*lane = (*lane ^ word) * 0x9fb21c651e98df25ULL;
	*lane ^= *lane >> 32;
}

static __always_inline void left_headers(ctx_t *ctx, struct left *left)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u8 *last;
	int i, at = 0;

	if (data + LEFT_WHOLE <= end) {
#pragma unroll
		for (i = 0; i < LEFT_WHOLE / 8; i++)
			left_take(left, i, ((__u64 *)data)[i]);
		at = LEFT_WHOLE;
	}
	for (i = 0; i < LEFT_HEADERS / 2; i++, at += 2) {
		__u16 *word = data + (at & 127);

		if (at >= LEFT_HEADERS || (void *)(word + 1) > end)
			break;
		left_take(left, 0, *word);
	}
	last = data + (at & 127); /* of a frame of odd length */
	if (at < LEFT_HEADERS && (void *)(last + 1) <= end)
		left_take(left, 0, *last);
}

static __always_inline int left_sum(ctx_t *ctx, const bool headers)
{
	const void *packet = nf_packet();
	struct left left = {};
	int i;

	if (!packet)
		return 0;
#pragma unroll
	for (i = 0; i < sizeof(struct nf_packet) / 8; i++)
		left_take(&left, i, ((const __u64 *)packet)[i]);
	if (sizeof(struct nf_packet) % 8)
		left_take(&left, i, *(const __u32 *)(packet + i * 8));
	if (headers)
		left_headers(ctx, &left);
	left.lane[0] ^= left.lane[1] * 3;
	left.lane[2] ^= left.lane[3] * 5;
	left_take(&left, 0, left.lane[2]);
	return left.lane[0];
}

/* Of one that may rewrite the packet. */
SEC(CTX_SECTION)
int nf_left_description(ctx_t *ctx)
{
	return left_sum(ctx, false);
}

/* Of one that only reads. */
SEC(CTX_SECTION)
int nf_left(ctx_t *ctx)
{
	return left_sum(ctx, true);
}

char _license[] SEC("license") = "Dual BSD/GPL";
