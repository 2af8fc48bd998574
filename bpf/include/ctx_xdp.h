/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Frames of XDP, each in one piece: see ctx.h.
 */
#pragma once

#include "../handshake/types.h"

typedef struct xdp_md ctx_t;

#define CTX_SECTION   "xdp"
#define CTX_REDIRECTS REDIRECT_FRAMES

enum ctx_action {
	CTX_DROP = XDP_DROP,
	CTX_PASS = XDP_PASS,
};

#define ctx_load(ctx, offset, to, length)    bpf_xdp_load_bytes(ctx, offset, to, length)
#define ctx_store(ctx, offset, from, length) bpf_xdp_store_bytes(ctx, offset, from, length)

static __always_inline __u32 ctx_length(ctx_t *ctx)
{
	return bpf_xdp_get_buff_len(ctx);
}

static __always_inline bool ctx_holds(ctx_t *ctx, __u32 length)
{
	return (void *)(long)ctx->data + length <= (void *)(long)ctx->data_end;
}

static __always_inline void ctx_pull(ctx_t *ctx, __u32 length)
{
}

static __always_inline __u32 ctx_ifindex(ctx_t *ctx)
{
	return ctx->ingress_ifindex;
}

static __always_inline struct replay *ctx_replay(ctx_t *ctx)
{
	struct replay *replay = (void *)(long)ctx->data_meta;

	return __builtin_expect((void *)(replay + 1) <= (void *)(long)ctx->data, 0) ? replay : 0;
}

static __always_inline int ctx_redirect(ctx_t *ctx, __u32 ifindex)
{
	struct replay *replay = ctx_replay(ctx);

	if (replay)
		replay->by = ifindex;
	return bpf_redirect(ifindex, 0);
}

/* Whether next is told to who sends the frame, and changes when that is done. */
static __always_inline bool ctx_defers_next(ctx_t *ctx, const struct web_key *key, __u32 begun, __u32 next)
{
	struct replay *replay = ctx_replay(ctx);

	if (!replay)
		return false;
	replay->begun = begun;
	replay->next = next;
	replay->key = *key;
	return true;
}

static __always_inline bool ctx_is_tagged(ctx_t *ctx)
{
	return false;
}

static __always_inline __u32 ctx_segments(ctx_t *ctx)
{
	return 1;
}

static __always_inline __u32 ctx_segment_size(ctx_t *ctx)
{
	return 0;
}

static __always_inline bool ctx_resize(ctx_t *ctx, __u32 front, __u32 length)
{
	if (front && bpf_xdp_adjust_head(ctx, -(int)front))
		return false;
	return !bpf_xdp_adjust_tail(ctx, (int)length - (int)ctx_length(ctx));
}

/* Makes the frame so long; nothing of it is kept. What it lacks it gets in front: behind a small one there may be no room. */
static __always_inline bool ctx_remake(ctx_t *ctx, __u32 length)
{
	int more = (int)length - (int)ctx_length(ctx);

	return more > 0 ? !bpf_xdp_adjust_head(ctx, -more) : !bpf_xdp_adjust_tail(ctx, more);
}
