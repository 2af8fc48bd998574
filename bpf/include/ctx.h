/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The frame as its hook gives it: all that differs between hooks is here, the rest of the data plane uses ctx_t alone.
 */
#pragma once

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>

typedef struct xdp_md ctx_t;

#define CTX_SECTION "xdp"

enum ctx_action {
	CTX_DROP = XDP_DROP,
	CTX_PASS = XDP_PASS,
};

/* What a program that was entered by tail call returns, whatever the hook. */
enum said {
	SAID_NOTHING, /* it is not there, or cannot say */
	SAID_DROP,
	SAID_PASS,
};

/* Copies length octets at offset; 0, or a negative error when the frame is shorter. */
#define ctx_load(ctx, offset, to, length) bpf_xdp_load_bytes(ctx, offset, to, length)

/* The same, into the frame. */
#define ctx_store(ctx, offset, from, length) bpf_xdp_store_bytes(ctx, offset, from, length)

/* Octets of the whole frame. */
static __always_inline __u32 ctx_length(ctx_t *ctx)
{
	return bpf_xdp_get_buff_len(ctx);
}

/* Of the interface that the frame came in by. */
static __always_inline __u32 ctx_ifindex(ctx_t *ctx)
{
	return ctx->ingress_ifindex;
}

/* Puts front octets before the frame and cuts it to length octets in all; what it holds is to be written anew. */
static __always_inline bool ctx_resize(ctx_t *ctx, __u32 front, __u32 length)
{
	if (front && bpf_xdp_adjust_head(ctx, -(int)front))
		return false;
	return !bpf_xdp_adjust_tail(ctx, (int)length - (int)ctx_length(ctx));
}
