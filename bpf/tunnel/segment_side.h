/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where the packets of frames arrive that went round, see segment.h: each gets its header, and goes to the other edge.
 */
#pragma once

#include "pact.h"
#include "send.h"

/* What tells of the packet, and of its drop: its addresses are tags by now. */
static __always_inline bool edge_segment_read(ctx_t *ctx, struct packet *packet)
{
	struct iphdr ip;

	if (ctx_load(ctx, ETH_HLEN, &ip, sizeof(ip)))
		return false;
	packet->tuple.source = ip.saddr;
	packet->tuple.destination = ip.daddr;
	packet->tuple.protocol = ip.protocol;
	packet->ip_length = bpf_ntohs(ip.tot_len);
	return true;
}

static __always_inline int edge_segment(ctx_t *ctx)
{
	struct control *control = control_get();
	struct edge_message message;
	struct packet packet = {};
	struct next_hop *hop;
	struct link *link;
	struct pact *pact;
	__u16 epoch;

	if (!control || ctx_load(ctx, 0, &message, sizeof(message)) || message.kind != EDGE_SEGMENT ||
	    !edge_segment_read(ctx, &packet))
		return CTX_DROP;
	bpf_skb_change_type(ctx, PACKET_HOST); /* what is left to the kernel is for it to forward */
	packet.generation = message.generation;
	epoch = *(volatile __u32 *)&control->route_epoch;
	link = link_to_send(message.vni & (LINK_NUMBERS - 1));
	if (!link || link->vni_here != message.vni)
		return verdict(ctx, &packet, REASON_DROP_NO_LINK, SIDE_PRIVATE);
	pact = pact_of_tag(bpf_ntohl(packet.tuple.source), clock_tick());
	if (!pact || bpf_htonl(pact->peer_tag) != packet.tuple.destination ||
	    pact->link != (message.vni & (LINK_NUMBERS - 1)))
		return verdict(ctx, &packet, REASON_DROP_NO_PACT, SIDE_PRIVATE);
	if (edge_goes_round(ctx, &packet)) /* for ever */
		return verdict(ctx, &packet, REASON_DROP_INTERNAL, SIDE_PRIVATE);
	if (link_hop(ctx, link, epoch, clock_tick(), &hop) != ROUTE_FOUND)
		return verdict(ctx, &packet, REASON_DROP_NO_ROUTE, SIDE_PRIVATE);
	if (packet.ip_length > link_most(link, hop))
		return verdict(ctx, &packet, REASON_DROP_TOO_BIG, SIDE_PRIVATE);
	return edge_send(ctx, &packet, link, hop, message.hash);
}
