/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What programs that every packet meets know of edges: the range of proxy addresses, and the tunnel's own address. There
 * is neither on a gateway without edges, whose words are 0.
 */
#pragma once

#include "../include/tail.h"
#include "../include/verdict.h"

#define GENEVE_OAM 0x80 /* of its second octet, RFC 8926 section 3.4: for the daemon */

/* Whether an address, in network byte order, is of the proxy range. */
static __always_inline bool address_is_proxy(const struct control *control, __u32 address)
{
	return bpf_ntohl(address) - control->proxy_first < control->proxy_size;
}

/* On to the programs of edges, whose tables the entries have no room for. */
static __always_inline int edge_enter(ctx_t *ctx, const struct packet *packet, enum program program, enum side side)
{
	bpf_tail_call(ctx, &programs, program);
	return verdict(ctx, packet, REASON_DROP_INTERNAL, side);
}

/* Whether UDP to the tunnel's address is of the tunnel, and no probe, which the daemon's socket gets. */
__noinline bool edge_is_meant(ctx_t *ctx, const struct packet *packet)
{
	struct control *control = control_get();
	__u8 flags;

	return packet && control && packet->tuple.protocol == IPPROTO_UDP &&
	       packet->tuple.destination_port == control->edge_port &&
	       !ctx_load(ctx, packet->l4 + sizeof(struct udphdr) + 1, &flags, sizeof(flags)) && !(flags & GENEVE_OAM);
}
