/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sending a packet, translated already, by a link: its header goes before it, and it is sent to the link's next hop, or left to
 * the kernel, as a packet of the gateway's own, where nothing can be redirected.
 */
#pragma once

#include "../path/forward.h"
#include "header.h"
#include "link.h"
#include "segment.h"

/* The next hop of the link, with the epoch of the routes that led to it: read and written whole. */
union link_route {
	struct {
		__u16 next_hop;
		__u16 epoch;
	} as;
	__u32 word;
};

static __always_inline __u32 *link_route_word(struct link *link)
{
	return (__u32 *)&link->next_hop;
}

/* Looks the next hop of the link up, and remembers it. */
__noinline enum route link_lookup(ctx_t *ctx, struct link *link, __u16 epoch, __u32 *number)
{
	struct route_query query = {.ingress = ctx_ifindex(ctx)};
	union link_route route = {.as = {.epoch = epoch}};
	enum route found;

	if (!link || !number)
		return ROUTE_NONE;
	query.source = link->local;
	query.destination = link->remote;
	found = route_cached(ctx, &query, epoch);
	if (found <= ROUTE_NO_NEIGHBOUR && query.side != SIDE_PUBLIC)
		found = ROUTE_NONE;
	if (found == ROUTE_FOUND)
		route.as.next_hop = query.number;
	*number = route.as.next_hop;
	if (!DRY) /* whose next hops are of another table */
		*(volatile __u32 *)link_route_word(link) = route.word;
	return found;
}

/* The next hop of the link in *hop (0: no neighbour yet); ROUTE_FOUND or why there is none. */
static __always_inline enum route link_hop(ctx_t *ctx, struct link *link, __u16 epoch, __u32 tick,
					   struct next_hop **hop)
{
	union link_route route = {.word = DRY ? 0 : *(volatile __u32 *)link_route_word(link)};
	enum route found;
	__u32 number = 0;

	*hop = 0;
	if (route.as.next_hop && route.as.epoch == epoch) {
		*hop = next_hop_at(route.as.next_hop);
		if (*hop && tick - (*hop)->stamp < NEXT_HOP_FRESH) {
			if ((*hop)->used != tick)
				(*hop)->used = tick;
			return ROUTE_FOUND;
		}
	}
	found = link_lookup(ctx, link, epoch, &number);
	*hop = found == ROUTE_FOUND ? next_hop_at(number) : 0;
	return found == ROUTE_NO_NEIGHBOUR ? ROUTE_FOUND : found;
}

/* How long an IP packet may be, octets: by the link, and by the link of its next hop. */
static __always_inline __u32 link_most(const struct link *link, const struct next_hop *hop)
{
	__u32 most = link->mtu;

	if (hop && hop->key.as.mtu < most + EDGE_HEADER)
		most = hop->key.as.mtu > EDGE_HEADER ? hop->key.as.mtu - EDGE_HEADER : 0;
	return most;
}

/* The packets of a flow leave by one UDP port, so that they keep their order; fragments have no ports. */
static __always_inline __u16 edge_hash(const struct pact *pact, const struct packet *packet)
{
	__u32 ports = packet->fragment ? 0 : (__u32)packet->tuple.source_port << 16 | packet->tuple.destination_port;

	return hash_words((__u64)pact->own_tag << 32 | pact->peer_tag, ports);
}

/* On its own, for the stack. */
__noinline int edge_send_on(ctx_t *ctx, const struct packet *packet, const struct link *link,
			    const struct next_hop *hop, __u16 hash)
{
	if (!packet || !link)
		return CTX_DROP;
	if (edge_goes_round(ctx, packet))
		return edge_go_round(ctx, packet, link, hash);
	if (!packet_fill_sum(ctx, packet) || !edge_prepend(ctx, link, hop, hash))
		return verdict(ctx, packet, REASON_DROP_INTERNAL, SIDE_PRIVATE);
	link_count(link->vni_here & (LINK_NUMBERS - 1), LINK_WAY_OUT, packet->ip_length);
	if (!hop) {
		reason_count(REASON_FORWARDED_NO_NEIGHBOUR);
		return CTX_PASS;
	}
	if (hop->redirect < CTX_REDIRECTS) {
		reason_count(REASON_FORWARDED_BY_STACK);
		return CTX_PASS;
	}
	reason_count(REASON_FORWARDED);
	return ctx_redirect(ctx, hop->key.as.ifindex);
}

/* The end of a packet that is as the other edge is to see it. */
static __always_inline int edge_send(ctx_t *ctx, const struct packet *packet, const struct link *link,
				     const struct next_hop *hop, __u16 hash)
{
	if (!DRY)
		return edge_send_on(ctx, packet, link, hop, hash);
	reason_count(REASON_FORWARDED);
	return CTX_DROP;
}
