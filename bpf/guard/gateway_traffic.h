/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Traffic that is not translated: to the gateway itself, ARP and IPv6.
 */
#pragma once

#include "../route/arp.h"
#include "../route/next_hop.h"
#include "protect6.h"
#include "reverse_path.h"

__noinline bool destination_is_local(ctx_t *ctx, __u32 source, __u32 destination)
{
	struct route_query query = {.source = source, .destination = destination, .ingress = ctx_ifindex(ctx)};

	return route_lookup(ctx, &query) == ROUTE_LOCAL;
}

/* Whether the packet is for the gateway itself. The kernel knows best: address->local is only what the daemon saw. */
static __always_inline bool is_local(ctx_t *ctx, const struct packet *packet, const struct address *address)
{
	return address->local && destination_is_local(ctx, packet->tuple.source, packet->tuple.destination);
}

__noinline enum reason ipv6_judge(ctx_t *ctx, enum side side)
{
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct ipv6hdr *ip = (void *)(eth + 1);
	struct control *control = control_get();
	__u32 generation = control ? *(volatile __u32 *)&control->generation : 0;
	struct settings *settings = control ? settings_get(generation) : 0;
	struct in6 destination;
	enum reason reason, passes = REASON_FORWARDED_IPV6;

	if ((void *)(ip + 1) > (void *)(long)ctx->data_end || ip->version != 6)
		return REASON_DROP_MALFORMED;
	if (ipv6_is_banned(ctx))
		return REASON_DROP_BANNED;
	trace_step(TRACE_BAN, false, 0, 0, 0);
	__builtin_memcpy(&destination, &ip->daddr, sizeof(destination));
	/* Neighbour discovery and the like: link-local multicast is never forwarded. */
	if ((destination.word[0] & bpf_htonl(0xff0f0000)) == bpf_htonl(0xff020000))
		return REASON_TO_GATEWAY;
	if (own_address(&destination, ctx_ifindex(ctx)))
		passes = REASON_TO_GATEWAY;
	else if (!settings || !settings->ipv6_forward)
		return REASON_DROP_IPV6;
	if (!settings || !settings->protects6 || (passes == REASON_TO_GATEWAY && side == SIDE_PRIVATE))
		return passes;
	reason = protect6(ctx, generation, side);
	return reason == REASON_NONE ? passes : reason;
}

/*
 * What becomes of a packet from inside to an address that is neither pool nor outbound: REASON_NONE when it leaves
 * through NAT.
 */
__noinline enum reason untranslated(ctx_t *ctx, __u32 source, __u32 destination)
{
	struct route_query query = {.source = source, .destination = destination, .ingress = ctx_ifindex(ctx)};

	switch (route_lookup(ctx, &query)) {
	case ROUTE_LOCAL:
		return REASON_TO_GATEWAY;
	case ROUTE_FOUND:
	case ROUTE_NO_NEIGHBOUR:
		return query.side == SIDE_PRIVATE ? REASON_INSIDE_TO_INSIDE : REASON_NONE;
	default:
		return REASON_DROP_NO_ROUTE;
	}
}

/*
 * Whether the destination is outside, for what is dropped then: neither the neighbour nor its link address matters, and
 * others' answers stay where they are (route/cache.h).
 */
__noinline bool destination_is_outside(ctx_t *ctx, const struct packet *packet)
{
	struct route_query query = {.ingress = ctx_ifindex(ctx)};
	struct interface *interface;
	struct bpf_fib_lookup fib;

	if (!packet)
		return false;
	query.source = packet->tuple.source;
	query.destination = packet->tuple.destination;
	if (route_ask(ctx, &query, &fib, BPF_FIB_LOOKUP_SKIP_NEIGH) != BPF_FIB_LKUP_RET_SUCCESS)
		return false;
	interface = bpf_map_lookup_elem(&interface_table, &fib.ifindex);
	return interface && interface->side == SIDE_PUBLIC;
}

/* Whoever forges a redirect would turn the gateway's own ways: its routes are its administrator's (RFC 1812 §5.2.7.2). */
static __always_inline bool is_redirect(ctx_t *ctx, const struct packet *packet, enum reason reason)
{
	__u8 type;

	return reason == REASON_DROP_ICMP_TYPE && !ctx_load(ctx, packet->l4, &type, sizeof(type)) &&
	       type == ICMP_REDIRECT;
}

/*
 * What becomes of packets that parsing could not make a flow of. What NAT does not know (fragments, other protocols) may
 * still be meant for the gateway or for another private network.
 */
__noinline enum reason unparsed(ctx_t *ctx, const struct packet *packet, enum reason reason, enum side side)
{
	__u32 source, destination;
	struct address *address;
	enum reason other;

	if (!packet ||
	    (reason != REASON_DROP_FRAGMENT && reason != REASON_DROP_PROTOCOL && reason != REASON_DROP_ICMP_TYPE))
		return reason;
	source = packet->tuple.source;
	destination = packet->tuple.destination;
	if (is_redirect(ctx, packet, reason))
		return reason;
	address = bpf_map_lookup_elem(&address_table, &destination);
	if (address) /* where the gateway shares it, NAT never has anything to do with the packet */
		return is_local(ctx, packet, address) ? to_gateway(ctx, packet, side) : reason;
	other = untranslated(ctx, source, destination);
	if (other != REASON_TO_GATEWAY && (other != REASON_INSIDE_TO_INSIDE || side != SIDE_PRIVATE))
		return reason;
	return source_is_spoofed(ctx, packet, side) ? REASON_DROP_SPOOFED_SOURCE : other;
}

__noinline int not_ipv4(ctx_t *ctx, const struct packet *packet, enum side side)
{
	struct reply_route route = {};
	enum reason reason;

	if (!packet)
		return CTX_DROP;
	if (packet->kind == PACKET_IPV6) {
		reason = ipv6_judge(ctx, side);
		if (reason != REASON_DROP_HONEYPOT || packet->link_broadcast || !honeypot6_answer(ctx, &route))
			return verdict(ctx, packet, reason, side);
		return honeypot_send(ctx, &route);
	}
	reason = side == SIDE_PUBLIC ? arp_answer(ctx) : REASON_TO_GATEWAY;
	if (reason == REASON_TO_GATEWAY)
		reason = arp_admit(ctx);
	if (reason != REASON_NONE)
		return verdict(ctx, packet, reason, side);
	reason_count(REASON_ANSWERED_ARP);
	return ctx_redirect(ctx, ctx_ifindex(ctx));
}
