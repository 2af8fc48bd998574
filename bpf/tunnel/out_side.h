/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packets from inside to a proxy address, entered from gateway_private: of an open session, or the first of one that the pact
 * lets its host open.
 */
#pragma once

#include "../answer/private_refuse.h"
#include "../packet/parse.h"
#include "../path/judge.h"
#include "error.h"
#include "open.h"
#include "pact.h"
#include "rewrite.h"
#include "send.h"

/* What a sender inside is told. */
__noinline int edge_refuse(ctx_t *ctx, const struct packet *packet, enum reason reason)
{
	if (!packet)
		return CTX_DROP;
	if (packet->fragment == FRAGMENT_LATER)
		return verdict(ctx, packet, reason, SIDE_PRIVATE);
	switch (reason) {
	case REASON_DROP_NO_PACT:
	case REASON_DROP_NO_LINK:
		return refuse(ctx, packet, reason, SIDE_PRIVATE, ICMP_DEST_UNREACH, ICMP_HOST_UNREACH, 0);
	case REASON_DROP_PACT_DIRECTION:
		return refuse(ctx, packet, reason, SIDE_PRIVATE, ICMP_DEST_UNREACH, ICMP_PKT_FILTERED, 0);
	default:
		return private_refuse(ctx, packet, reason);
	}
}

/* The open session of the packet, by this pact; 0 where it has none. */
static __always_inline struct session *edge_find(struct packet *packet, const struct pact *pact)
{
	struct session_key key = source_key(&packet->tuple);
	struct session *session;
	__u32 number;

	packet->buckets = record_buckets_inside(&key);
	number = session_find_inside(&key, packet->buckets);
	session = session_at(number);
	if (number && (!session || !session_is_by(session, pact->own_tag, pact->peer_tag)))
		number = 0;
	trace_step(TRACE_FIND, number != 0, 0, 0, number);
	return number ? session : 0;
}

/* REASON_NONE, or why the packet opens nothing; what it would open. */
__noinline enum reason edge_admit_out(ctx_t *ctx, const struct packet *packet, const struct pact *pact,
				      struct flow *flow)
{
	enum reason reason;

	if (!packet || !pact || !flow)
		return REASON_DROP_INTERNAL;
	reason = may_open(packet);
	if (reason != REASON_NONE)
		return reason;
	if (source_is_spoofed(ctx, packet, SIDE_PRIVATE))
		return REASON_DROP_SPOOFED_SOURCE;
	if (!(pact->flags & PACT_OUT))
		return REASON_DROP_PACT_DIRECTION;
	if (packet->ttl <= 1)
		return REASON_DROP_TTL_EXPIRED;
	flow->origin = ORIGIN_EDGE_OUT;
	flow->private_address = packet->tuple.source;
	flow->private_port = packet->tuple.source_port;
	flow->remote_address = packet->tuple.destination;
	flow->remote_port = packet->tuple.destination_port;
	flow->external_port = packet->tuple.source_port;
	flow->protocol = packet->tuple.protocol;
	flow->buckets = packet->buckets;
	flow->tag = pact->own_tag;
	flow->peer_tag = pact->peer_tag;
	return is_banned(flow->remote_address) ? REASON_DROP_BANNED : REASON_NONE;
}

/* A packet that may pass; of none but a fragment there is a session. */
static __always_inline int edge_forward_out(ctx_t *ctx, const struct packet *packet, struct pact *pact,
					    struct link *link, struct session *session, __u16 epoch)
{
	__u32 tick = clock_tick(), most;
	struct next_hop *hop;

	if (__builtin_expect(packet->ttl <= 1, 0))
		return session ? refuse(ctx, packet, REASON_DROP_TTL_EXPIRED, SIDE_PRIVATE, ICMP_TIME_EXCEEDED,
					ICMP_EXC_TTL, 0)
			       : verdict(ctx, packet, REASON_DROP_TTL_EXPIRED, SIDE_PRIVATE);
	if (__builtin_expect(link_hop(ctx, link, epoch, tick, &hop) != ROUTE_FOUND, 0))
		return session ? refuse_no_route(ctx, packet, SIDE_PRIVATE)
			       : verdict(ctx, packet, REASON_DROP_NO_ROUTE, SIDE_PRIVATE);
	most = link_most(link, hop);
	if (__builtin_expect(packet->wire_length > most, 0))
		return session ? refuse(ctx, packet, REASON_DROP_TOO_BIG, SIDE_PRIVATE, ICMP_DEST_UNREACH,
					ICMP_FRAG_NEEDED, most)
			       : verdict(ctx, packet, REASON_DROP_TOO_BIG, SIDE_PRIVATE);
	if (session) {
		pact_touch(pact, tick);
		edge_touch(session, packet, DIRECTION_OUT, tick);
		if (__builtin_expect(packet->tcp_flags & TCP_FLAG_SYN, 0))
			edge_clamp(ctx, packet, most);
		if (!edge_rewrite(ctx, packet, session))
			return verdict(ctx, packet, REASON_DROP_INTERNAL, SIDE_PRIVATE);
	} else if (!edge_address(ctx, pact->own_tag, pact->peer_tag, pact->delta)) {
		return verdict(ctx, packet, REASON_DROP_INTERNAL, SIDE_PRIVATE);
	}
	return edge_send(ctx, packet, link, hop, edge_hash(pact, packet));
}

/*
 * A fragment but the first: nobody can tell of which session, but the pair of tags is the pair of hosts, and its number its
 * sender's own.
 */
static __always_inline int edge_fragment_out(ctx_t *ctx, const struct packet *packet, struct pact *pact,
					     struct link *link, __u16 epoch)
{
	enum reason reason;

	if (source_is_spoofed(ctx, packet, SIDE_PRIVATE))
		return verdict(ctx, packet, REASON_DROP_SPOOFED_SOURCE, SIDE_PRIVATE);
	reason = pact_fragment(pact, PACT_OUT, clock_tick());
	if (reason != REASON_NONE)
		return verdict(ctx, packet, reason, SIDE_PRIVATE);
	return edge_forward_out(ctx, packet, pact, link, 0, epoch);
}

static __always_inline int edge_out(ctx_t *ctx)
{
	struct packet packet = {};
	enum reason reason = packet_parse(ctx, &packet);
	struct control *control = control_get();
	struct session *session;
	struct link *link;
	struct pact *pact;

	if (!control)
		return verdict(ctx, &packet, REASON_DROP_INTERNAL, SIDE_PRIVATE);
	packet.generation = *(volatile __u32 *)&control->generation;
	if (reason != REASON_NONE && reason != REASON_DROP_FRAGMENT)
		return verdict(ctx, &packet, reason, SIDE_PRIVATE);
	if (packet.link_broadcast)
		return verdict(ctx, &packet, REASON_DROP_LINK_BROADCAST, SIDE_PRIVATE);
	pact = pact_of_proxy(control, packet.tuple.destination, clock_tick());
	trace_step(TRACE_PACT, pact ? pact->flags : 0, packet.tuple.destination, 0,
		   pact ? pact->own_tag & (PACT_NUMBERS - 1) : 0);
	if (!pact)
		return edge_refuse(ctx, &packet,
				   source_is_spoofed(ctx, &packet, SIDE_PRIVATE) ? REASON_DROP_SPOOFED_SOURCE
										 : REASON_DROP_NO_PACT);
	link = link_to_send(pact->link);
	trace_step(TRACE_LINK, link ? link->mtu : 0, 0, 0, link ? pact->link : 0);
	if (packet.kind == PACKET_ICMP_ERROR)
		return edge_error_out(ctx, &packet, pact, link);
	if (pact->host != packet.tuple.source)
		return verdict(ctx, &packet, REASON_DROP_PROXY_FOREIGN, SIDE_PRIVATE);
	if (!link)
		return edge_refuse(ctx, &packet, REASON_DROP_NO_LINK);
	if (reason == REASON_DROP_FRAGMENT)
		return edge_fragment_out(ctx, &packet, pact, link, control->route_epoch);
	session = edge_find(&packet, pact);
	if (__builtin_expect(session != 0, 1)) {
		session = dry_copy(session);
		reason = open_judge(ctx, &packet, session, DIRECTION_OUT);
		if (__builtin_expect(reason != REASON_NONE, 0))
			return forward_refuse(ctx, &packet, session, reason);
	} else {
		struct flow *flow = flow_new();
		__u32 number = 0;

		if (!flow)
			return verdict(ctx, &packet, REASON_DROP_INTERNAL, SIDE_PRIVATE);
		reason = edge_admit_out(ctx, &packet, pact, flow);
		if (reason == REASON_NONE)
			reason = chain_judge(ctx, &packet, flow);
		if (reason == REASON_NONE)
			reason = edge_open_out(&packet, flow, &number);
		if (reason != REASON_NONE)
			return edge_refuse(ctx, &packet, reason);
		session = session_entered(number);
		if (!session)
			return verdict(ctx, &packet, REASON_DROP_INTERNAL, SIDE_PRIVATE);
		session = dry_copy(session);
	}
	return edge_forward_out(ctx, &packet, pact, link, session, control->route_epoch);
}
