/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reverse path (BCP 38, RFC 3704): what opens a flow, and what goes to the gateway itself, has to come from where its
 * answers would go. Inside that is the interface that it came in by (RFC 3704 section 2.2) or, by configuration, a private
 * one; outside, where the ways of two directions differ, it is any that is not private.
 */
#pragma once

#include "../include/errno.h"
#include "../route/next_hop.h"
#include "../tunnel/proxy.h"

/*
 * Whether a packet from inside comes by another interface than its source is reached by. The neighbour is not asked for,
 * nor a next hop made: that is cheaper by half.
 */
__noinline bool source_is_elsewhere(ctx_t *ctx, const struct packet *packet)
{
	struct bpf_fib_lookup fib = {.family = AF_INET, .ifindex = ctx_ifindex(ctx), .tot_len = 1};
	struct interface *interface;
	struct settings *settings;
	long code;

	if (!packet)
		return true;
	settings = settings_get(packet->generation);
	if (!settings)
		return true;
	fib.ipv4_src = packet->tuple.destination;
	fib.ipv4_dst = packet->tuple.source;
	code = bpf_fib_lookup(ctx, &fib, sizeof(fib), BPF_FIB_LOOKUP_SKIP_NEIGH);
	if (code == -EINVAL) /* before Linux 6.3 */
		code = bpf_fib_lookup(ctx, &fib, sizeof(fib), 0);
	if (code != BPF_FIB_LKUP_RET_SUCCESS && code != BPF_FIB_LKUP_RET_NO_NEIGH)
		return true;
	if (fib.ifindex == ctx_ifindex(ctx))
		return false;
	interface = settings->loose_reverse_path ? bpf_map_lookup_elem(&interface_table, &fib.ifindex) : 0;
	return !interface || interface->side != SIDE_PRIVATE;
}

/* Nobody outside has an address of ours: neither one of the gateway nor one of a private network. */
__noinline bool source_is_inside(ctx_t *ctx, const struct packet *packet)
{
	struct route_query query = {.ingress = ctx_ifindex(ctx)};

	if (!packet)
		return true;
	query.source = packet->tuple.destination;
	query.destination = packet->tuple.source;
	route_lookup(ctx, &query);
	return query.own || query.side == SIDE_PRIVATE;
}

/* Whether the packet's source cannot be its sender's. A hairpin's is ours, as it should be; a proxy address is nobody's. */
static __always_inline bool source_is_spoofed(ctx_t *ctx, const struct packet *packet, enum side side)
{
	__u32 source = packet->tuple.source;
	struct control *control;

	if (packet->hairpin)
		return false;
	control = control_get();
	if (control && address_is_proxy(control, source))
		return true;
	if (bpf_map_lookup_elem(&address_table, &source))
		return true;
	return side == SIDE_PRIVATE ? source_is_elsewhere(ctx, packet) : source_is_inside(ctx, packet);
}

/* What a DHCP server answers (RFC 2131 section 4.1): without it the gateway would lose its address. */
static __always_inline bool is_lease(const struct packet *packet)
{
	return packet->tuple.protocol == IPPROTO_UDP && packet->tuple.source_port == bpf_htons(67) &&
	       packet->tuple.destination_port == bpf_htons(68);
}

/* The end of a packet for the gateway itself. */
static __always_inline enum reason to_gateway(ctx_t *ctx, const struct packet *packet, enum side side)
{
	return !is_lease(packet) && source_is_spoofed(ctx, packet, side) ? REASON_DROP_SPOOFED_SOURCE
									 : REASON_TO_GATEWAY;
}
