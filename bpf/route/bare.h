/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bare interfaces, whose packets have no link header: tun, PPP, WireGuard. What comes in by one gets a header, so that all
 * code here sees frames. The kernel takes what is left to it with the header, and takes that off again from what is
 * redirected to a bare interface.
 */
#pragma once

#include "../include/maps.h"
#include "../include/tail.h"
#include "../include/verdict.h"

/*
 * The kernel gives no room before a packet of about 16,000 octets, SKB_MAX_ALLOC, and more that is no aggregate. Below this
 * many it always does.
 */
#define BARE_MOST 15000

/* Goes on to that program with a frame. */
static __always_inline int bare_enter(ctx_t *ctx, enum program program)
{
	__u16 protocol = ctx->protocol;

	/* Of any other there is no frame: an ARP message, say, would be answered. */
	if (protocol != bpf_htons(ETH_P_IP) && protocol != bpf_htons(ETH_P_IPV6))
		protocol = 0;
	if (!bpf_skb_change_head(ctx, ETH_HLEN, 0) &&
	    !ctx_store(ctx, offsetof(struct ethhdr, h_proto), &protocol, sizeof(protocol)))
		bpf_tail_call(ctx, &programs, program);
	reason_count(ctx->len > BARE_MOST ? REASON_DROP_TOO_BIG : REASON_DROP_INTERNAL);
	return CTX_DROP;
}
