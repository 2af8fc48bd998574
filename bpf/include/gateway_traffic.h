/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Traffic that is not translated: to the gateway itself, ARP and IPv6.
 */
#pragma once

#include "answer.h"
#include "next_hop.h"

__noinline bool destination_is_local(struct xdp_md *ctx, __u32 source, __u32 destination)
{
	struct route_query query = {.source = source, .destination = destination, .ingress = ctx->ingress_ifindex};

	return route_lookup(ctx, &query) == ROUTE_LOCAL;
}

__noinline enum reason ipv6_judge(struct xdp_md *ctx)
{
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct ipv6hdr *ip = (void *)(eth + 1);
	struct control *control = control_get();
	struct settings *settings = control ? settings_get(control->generation) : 0;
	struct in6 destination;

	if ((void *)(ip + 1) > (void *)(long)ctx->data_end || ip->version != 6)
		return REASON_DROP_MALFORMED;
	__builtin_memcpy(&destination, &ip->daddr, sizeof(destination));
	/* Neighbour discovery and the like: link-local multicast is never forwarded. */
	if ((destination.word[0] & bpf_htonl(0xff0f0000)) == bpf_htonl(0xff020000) ||
	    bpf_map_lookup_elem(&own_addresses6, &destination))
		return REASON_TO_GATEWAY;
	return settings && settings->ipv6_forward ? REASON_FORWARDED_IPV6 : REASON_DROP_IPV6;
}

/*
 * Packets that parsing could not make a flow of. What NAT does not know (fragments, other protocols) may still be
 * meant for the gateway, at an address that it does not share.
 */
__noinline int unparsed(struct xdp_md *ctx, const struct packet *packet, enum reason reason, enum side side)
{
	__u32 destination = packet ? packet->tuple.destination : 0;

	if ((reason == REASON_DROP_FRAGMENT || reason == REASON_DROP_PROTOCOL || reason == REASON_DROP_ICMP_TYPE) &&
	    packet && !bpf_map_lookup_elem(&address_table, &destination) &&
	    destination_is_local(ctx, packet->tuple.source, destination))
		reason = REASON_TO_GATEWAY;
	return verdict(ctx, packet, reason, side);
}

__noinline int not_ipv4(struct xdp_md *ctx, const struct packet *packet, enum side side)
{
	enum reason reason;

	if (!packet)
		return XDP_DROP;
	if (packet->kind == PACKET_IPV6)
		return verdict(ctx, packet, ipv6_judge(ctx), side);
	reason = side == SIDE_PUBLIC ? arp_answer(ctx) : REASON_TO_GATEWAY;
	if (reason != REASON_NONE)
		return verdict(ctx, packet, reason, side);
	reason_count(REASON_ANSWERED_ARP);
	return bpf_redirect(ctx->ingress_ifindex, 0);
}
