/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where copies of first fragments arrive, see carrier.h: socket buffers always.
 */
#pragma once

#include "carrier.h"
#include "side.h"

#define PACKET_HOST 0 /* linux/if_packet.h */

/* Makes the frame what the slot has; of which side it came, or 0. */
static __always_inline enum fragment_side carrier_become(ctx_t *ctx, struct held_fragment *slot)
{
	enum fragment_side side;
	__u64 length;

	if (!slot)
		return 0;
	side = slot->side;
	length = slot->length;
	barrier_var(length);
	if (length < ETH_HLEN || length > HOLD_FRAME || !ctx_resize(ctx, 0, length) ||
	    ctx_store(ctx, 0, slot->frame, length))
		return 0;
	return side;
}

/* The first fragment itself, translated already. */
static __always_inline int carrier_first(ctx_t *ctx, const struct carrier_message *message)
{
	struct packet packet = {};
	__u16 length;

	if (ctx_load(ctx, ETH_HLEN + __builtin_offsetof(struct iphdr, tot_len), &length, sizeof(length)))
		return CTX_DROP;
	packet.wire_length = bpf_ntohs(length);
	return forward_send(ctx, &packet, message->hop ? next_hop_at(message->hop) : 0, message->side);
}

/* What the daemon sends again of a hairpin, translated on its way out: link addresses that are nobody's, and the rest of its way. */
static __always_inline int carrier_again(ctx_t *ctx)
{
	struct ethhdr link = {.h_dest = {2}, .h_source = {2}};

	link.h_proto = bpf_htons(ETH_P_IP);
	if (ctx_store(ctx, 0, &link, sizeof(link)))
		return CTX_DROP;
	bpf_skb_change_type(ctx, PACKET_HOST);
	return hairpin_again(ctx);
}

/*
 * Any other frame comes in once more by its own interface, as by another its source would be spoofed (reverse_path.h), nobody could
 * be answered, and routes and the kernel's own rules may differ. Its link addresses stand behind it. twice: the second is queued
 * behind the first on the same CPU, and before all that comes of it; sent by two calls, it would meet the answer to the first where
 * the host is a neighbour by veth.
 */
static __always_inline int carrier_replay(ctx_t *ctx, bool twice)
{
	__u32 ifindex, length = ctx->len;
	__u8 link[2 * ETH_ALEN];

	if (length < ETH_HLEN + sizeof(link) || ctx_load(ctx, CARRIER_BY, &ifindex, sizeof(ifindex)) ||
	    ctx_load(ctx, length - sizeof(link), link, sizeof(link)) || ctx_store(ctx, 0, link, sizeof(link)) ||
	    bpf_skb_change_tail(ctx, length - sizeof(link), 0))
		return CTX_DROP;
	if (twice)
		bpf_clone_redirect(ctx, ifindex, BPF_F_INGRESS);
	return bpf_redirect(ifindex, BPF_F_INGRESS);
}

static __always_inline int carrier_side(ctx_t *ctx)
{
	struct carrier_message message;
	struct hold_set *set;
	__u32 place, way = 0;
	__u64 tag, busy;

	if (ctx_load(ctx, 0, &message, sizeof(message)))
		return CTX_DROP;
	if (message.kind == CARRIER_REPLAY || message.kind == CARRIER_TWICE)
		return carrier_replay(ctx, message.kind == CARRIER_TWICE);
	if (message.kind == CARRIER_AGAIN)
		return carrier_again(ctx);
	if (message.kind != CARRIER_KIND)
		return CTX_DROP;
	bpf_skb_change_type(ctx, PACKET_HOST); /* what is left to the kernel is for it to forward */
	place = message.set;
	set = bpf_map_lookup_elem(&fragment_holds, &place);
	if (!set)
		return CTX_DROP;
	tag = (__u64)message.tag[2] << 48 | (__u64)message.tag[1] << 32 | (__u64)message.tag[0] << 16;
	busy = hold_take(set, tag, message.ways, &way);
	if (busy) {
		enum fragment_side side = carrier_become(ctx, hold_slot(place, way));

		__sync_val_compare_and_swap(&set->word[way & (HOLD_WAYS - 1)], busy, 0);
		return side ? fragment_pass(ctx, side) : CTX_DROP;
	}
	return message.hop == CARRIER_COPY ? CTX_DROP : carrier_first(ctx, &message);
}
