/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Socket buffers at tcx, or at a clsact filter: see ctx.h.
 */
#pragma once

#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/tcp.h>

#include "../handshake/types.h"

typedef struct __sk_buff ctx_t;

#define CTX_SECTION   "tc"
#define CTX_REDIRECTS REDIRECT_BUFFERS

enum ctx_action {
	CTX_PASS = -1, /* TCX_NEXT: others' programs there see what the kernel will */
	CTX_DROP = 2,
	CTX_SENT = 7, /* TCX_REDIRECT; to nobody, if nobody has been named */
};

#define ctx_load(ctx, offset, to, length)    bpf_skb_load_bytes(ctx, offset, to, length)
#define ctx_store(ctx, offset, from, length) bpf_skb_store_bytes(ctx, offset, from, length, 0)

static __always_inline __u32 ctx_length(ctx_t *ctx)
{
	return ctx->len;
}

static __always_inline bool ctx_holds(ctx_t *ctx, __u32 length)
{
	return length <= ctx->len;
}

static __always_inline void ctx_pull(ctx_t *ctx, __u32 length)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	if (data + length > end && end - data < ctx->len)
		bpf_skb_pull_data(ctx, length < ctx->len ? length : ctx->len);
}

static __always_inline __u32 ctx_ifindex(ctx_t *ctx)
{
	return ctx->ifindex;
}

/*
 * A frame that the daemon runs the program over is sent at once, as nobody does with what a test run returns. In cb of others
 * there may be anything; by chance they are sent so, too.
 */
static __always_inline int ctx_redirect(ctx_t *ctx, __u32 ifindex)
{
	if (__builtin_expect(ctx->cb[0] != REPLAY_BUFFER, 1))
		return bpf_redirect(ifindex, 0);
	bpf_clone_redirect(ctx, ifindex, 0);
	return CTX_SENT;
}

static __always_inline bool ctx_defers_next(ctx_t *ctx, const struct web_key *key, __u32 begun, __u32 next)
{
	return false;
}

static __always_inline bool ctx_is_tagged(ctx_t *ctx)
{
	return ctx->vlan_present;
}

static __always_inline __u32 ctx_segments(ctx_t *ctx)
{
	const __u32 headers = ETH_HLEN + sizeof(struct iphdr) + sizeof(struct tcphdr);

	if (ctx->gso_segs)
		return ctx->gso_segs;
	/* Of a virtual machine the kernel has not counted them yet. */
	return ctx->gso_size && ctx->len > headers ? (ctx->len - headers + ctx->gso_size - 1) / ctx->gso_size : 1;
}

static __always_inline __u32 ctx_segment_size(ctx_t *ctx)
{
	return ctx->gso_size;
}

static __always_inline bool ctx_resize(ctx_t *ctx, __u32 front, __u32 length)
{
	/* Cut first: an aggregate of UDP gets no room, and is none behind it. */
	if (bpf_skb_change_tail(ctx, length - front, 0))
		return false;
	/* Behind the link header, so that the kernel still finds where that ends: it takes it off for bare interfaces. */
	return !front || !bpf_skb_adjust_room(ctx, front, BPF_ADJ_ROOM_MAC, BPF_F_ADJ_ROOM_FIXED_GSO);
}

/* The same; nothing of it is kept. */
static __always_inline bool ctx_remake(ctx_t *ctx, __u32 length)
{
	return ctx_resize(ctx, 0, length);
}
