/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packets of the tunnel from other edges, entered from gateway_public: when all of the header is right it is taken off, and
 * what is left is of an open session, or the first of one that its pact lets in.
 */
#pragma once

#include "../packet/parse.h"
#include "../path/forward.h"
#include "arrival.h"
#include "error.h"
#include "open_in.h"
#include "rewrite.h"

/* The session of the host's endpoint by this pact; 0: there is none. */
static __always_inline __u32 edge_find_at(const struct packet *packet, const struct pact *pact, __u16 port)
{
	struct session_key key = destination_key(&packet->tuple, KEY_INSIDE);
	struct session *session;
	__u32 number;

	key.local_port = port;
	number = session_find(&key);
	session = session_at(number);
	return number && session && session_is_by(session, pact->own_tag, pact->peer_tag) &&
			       session->external_port == packet->tuple.destination_port
		       ? number
		       : 0;
}

/* The open session of the packet: of the service that its port stands for, or of that port itself, which a host has sent from. */
__noinline __u32 edge_find_in(const struct packet *packet, const struct pact *pact)
{
	__u32 number;
	__u16 port;

	if (!packet || !pact)
		return 0;
	port = pact_port_inside(pact, packet->tuple.protocol, packet->tuple.destination_port);
	number = edge_find_at(packet, pact, port);
	if (!number && port != packet->tuple.destination_port)
		number = edge_find_at(packet, pact, packet->tuple.destination_port);
	trace_step(TRACE_FIND, number != 0, 0, 0, number);
	return number;
}

/* Tells the sender, behind the other edge: an error of the host's own goes back by the tunnel, as any from inside. */
static __always_inline int edge_refuse_in(ctx_t *ctx, const struct packet *packet, enum reason reason, __u8 type,
					  __u8 code, __u16 mtu)
{
	struct icmp_error error = {.type = type, .code = code, .mtu = mtu, .from = packet->tuple.destination};

	reason_count(reason);
	drop_sample(ctx, packet, reason, SIDE_PUBLIC);
	if (packet->fragment != FRAGMENT_LATER && refusal_is_paid(packet->tuple.source) &&
	    icmp_error_write(ctx, packet, &error))
		bpf_tail_call(ctx, &programs, PROGRAM_EDGE_OUT);
	return CTX_DROP;
}

/* A packet of a session that may pass. */
static __always_inline int edge_forward_in(ctx_t *ctx, struct packet *packet, struct pact *pact,
					   const struct link *link, struct session *session, __u16 epoch)
{
	__u32 tick = clock_tick(), most;
	struct next_hop *hop;

	if (__builtin_expect(packet->ttl <= 1, 0))
		return edge_refuse_in(ctx, packet, REASON_DROP_TTL_EXPIRED, ICMP_TIME_EXCEEDED, ICMP_EXC_TTL, 0);
	if (__builtin_expect(forward_hop(ctx, session, DIRECTION_IN, tick, epoch, &hop) != ROUTE_FOUND, 0))
		return edge_refuse_in(ctx, packet, REASON_DROP_NO_ROUTE, ICMP_DEST_UNREACH, ICMP_HOST_UNREACH, 0);
	most = hop ? hop->key.as.mtu : unknown_mtu(ctx, session, DIRECTION_IN);
	if (packet->dont_fragment && __builtin_expect(packet->wire_length > most, 0))
		return edge_refuse_in(ctx, packet, REASON_DROP_TOO_BIG, ICMP_DEST_UNREACH, ICMP_FRAG_NEEDED, most);
	pact_touch(pact, tick);
	edge_touch(session, packet, DIRECTION_IN, tick);
	if (__builtin_expect(packet->tcp_flags & TCP_FLAG_SYN, 0))
		edge_clamp(ctx, packet, most < link->mtu ? most : link->mtu);
	if (!edge_port(ctx, packet, session, DIRECTION_IN))
		return verdict(ctx, packet, REASON_DROP_INTERNAL, SIDE_PUBLIC);
	return forward_send(ctx, packet, hop, SIDE_PUBLIC);
}

/*
 * A fragment but the first: the pair of tags is the pair of hosts, and its number its sender's own, so that it goes to the host
 * whatever became of the others of its packet.
 */
__noinline int edge_fragment_in(ctx_t *ctx, const struct packet *packet, const struct pact *pact, __u16 epoch)
{
	struct route_query query = {.ingress = ctx_ifindex(ctx)};
	struct next_hop *hop = 0;
	enum reason reason;
	enum route route;

	if (!packet || !pact)
		return CTX_DROP;
	reason = pact_fragment(pact, PACT_IN, clock_tick());
	if (reason != REASON_NONE)
		return verdict(ctx, packet, reason, SIDE_PUBLIC);
	if (packet->ttl <= 1)
		return verdict(ctx, packet, REASON_DROP_TTL_EXPIRED, SIDE_PUBLIC);
	query.source = packet->tuple.source;
	query.destination = packet->tuple.destination;
	route = route_cached(ctx, &query, epoch);
	if (route == ROUTE_FOUND)
		hop = next_hop_at(query.number);
	if ((route != ROUTE_FOUND && route != ROUTE_NO_NEIGHBOUR) || query.side != SIDE_PRIVATE)
		return verdict(ctx, packet, REASON_DROP_NO_ROUTE, SIDE_PUBLIC);
	return forward_send(ctx, packet, hop, SIDE_PUBLIC);
}

/* What opens a session, or why it opens none. */
static __always_inline enum reason edge_judge_in(ctx_t *ctx, struct packet *packet, const struct pact *pact,
						 __u32 *number)
{
	struct flow *flow = flow_new();
	enum reason reason;

	if (!flow)
		return REASON_DROP_INTERNAL;
	reason = edge_admit_in(packet, pact, flow);
	if (reason == REASON_NONE)
		reason = chain_judge(ctx, packet, flow);
	if (reason == REASON_NONE)
		reason = edge_open_in(packet, pact, flow, number);
	return reason;
}

/* Of what is refused before it is believed, its outer header tells. */
__noinline int edge_outer_read(ctx_t *ctx, struct packet *packet)
{
	struct {
		struct iphdr ip;
		struct udphdr udp;
	} outer;

	if (!packet || ctx_load(ctx, ETH_HLEN, &outer, sizeof(outer)))
		return 0;
	packet->tuple.source = outer.ip.saddr;
	packet->tuple.destination = outer.ip.daddr;
	packet->tuple.protocol = outer.ip.protocol;
	if (outer.ip.ihl == 5) {
		packet->tuple.source_port = outer.udp.source;
		packet->tuple.destination_port = outer.udp.dest;
	}
	return 0;
}

static __always_inline int edge_in(ctx_t *ctx)
{
	struct control *control = control_get();
	struct arrival arrival = {};
	struct packet packet = {};
	struct session *session;
	enum reason reason;
	struct pact *pact;
	struct link *link;
	__u32 number = 0;

	if (!control)
		return verdict(ctx, &packet, REASON_DROP_INTERNAL, SIDE_PUBLIC);
	packet.generation = *(volatile __u32 *)&control->generation;
	reason = edge_arrive(ctx, &arrival);
	link = link_at(arrival.link);
	pact = pact_at(arrival.tag & (PACT_NUMBERS - 1));
	if (reason == REASON_NONE && (!link || !pact || !edge_unwrap(ctx, pact, &arrival)))
		reason = REASON_DROP_INTERNAL;
	if (reason != REASON_NONE || !link || !pact) {
		if (arrival.link)
			link_count_refused(arrival.link);
		edge_outer_read(ctx, &packet);
		return verdict(ctx, &packet, reason, SIDE_PUBLIC);
	}
	link_count(arrival.link, LINK_WAY_IN, arrival.length);
	reason = packet_parse(ctx, &packet);
	/* The one that there is is that of tags, and nobody has left it to an interface. */
	packet.sum = sum_of_none(ctx);
	if (reason == REASON_DROP_FRAGMENT && !packet.link_broadcast)
		return edge_fragment_in(ctx, &packet, pact, control->route_epoch);
	if (reason != REASON_NONE)
		return verdict(ctx, &packet, reason, SIDE_PUBLIC);
	if (packet.link_broadcast)
		return verdict(ctx, &packet, REASON_DROP_LINK_BROADCAST, SIDE_PUBLIC);
	if (packet.kind == PACKET_ICMP_ERROR)
		return edge_error_in(ctx, &packet, pact);
	number = edge_find_in(&packet, pact);
	session = number ? session_at(number) : 0;
	if (session) {
		reason = open_judge(ctx, &packet, session, DIRECTION_IN);
	} else {
		reason = edge_judge_in(ctx, &packet, pact, &number);
		session = session_entered(number);
		if (reason == REASON_NONE && !session)
			reason = REASON_DROP_INTERNAL;
	}
	if (reason == REASON_DROP_TTL_EXPIRED)
		return edge_refuse_in(ctx, &packet, reason, ICMP_TIME_EXCEEDED, ICMP_EXC_TTL, 0);
	if (reason != REASON_NONE || !session)
		return verdict(ctx, &packet, reason, SIDE_PUBLIC);
	return edge_forward_in(ctx, &packet, pact, link, session, control->route_epoch);
}
