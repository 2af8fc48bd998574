/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The last steps of a packet that has a session and may pass: note it in the session, translate it, and send it to its next
 * hop or, where no frame can be redirected, through the kernel. Whatever fails here drops the packet: an untranslated one
 * never leaves.
 */
#pragma once

#include "judge.h"
#include "../fragment/first.h"
#include "../route/path_mtu.h"
#include "../answer/refuse.h"
#include "../handshake/anew.h"
#include "../handshake/connection_id.h"
#include "../nat/difference.h"
#include "../nat/rewrite.h"
#include "../route/cache.h"
#include "../pool/tentative.h"

/* What a packet of another protocol than TCP tells of a session from outside, and of the client of one from the pool. */
static __always_inline void flow_meet(ctx_t *ctx, struct session *session, const struct packet *packet,
				      enum direction direction, __u32 tick)
{
	__u32 generation = packet->generation;

	if (direction == DIRECTION_OUT) {
		if (!(session->marks.as.flags & SESSION_ANSWERED))
			standing_answer(session, generation);
		if (session_is_guest(session) && guest_shakes(session, tick))
			guest_hears(ctx, packet, session);
	} else if (session->origin == ORIGIN_POOL &&
		   (session->marks.as.flags & (SESSION_ANSWERED | SESSION_SETTLED)) == SESSION_ANSWERED) {
		proof_answered(session, generation);
	} else if (session->origin == ORIGIN_WEB &&
		   (session->marks.as.flags & (SESSION_ANSWERED | SESSION_SETTLED)) == SESSION_ANSWERED) {
		session_mark(session, SESSION_SETTLED);
	}
}

/* Notes the packet in the session; of one from outside, whether it stands. A tentative one has noted it itself. */
static __always_inline void flow_touch(ctx_t *ctx, struct session *session, const struct packet *packet,
				       enum direction direction, __u32 tick)
{
	enum turn turn = TURN_NONE;

	if (DRY)
		return;
	if (session_is_outbound(session->origin)) {
		session_touch(session, packet, direction, tick);
		if (direction == DIRECTION_IN && is_basic(session->protocol) &&
		    !(session->marks.as.flags & SESSION_ANSWERED))
			session_mark(session, SESSION_ANSWERED);
		return;
	}
	if (session->marks.as.flags & SESSION_TENTATIVE)
		return;
	if (direction == DIRECTION_IN || !session_is_guest(session)) /* hosts go on asking clients that are gone */
		turn = session_touch(session, packet, direction, tick);
	if (session->protocol != IPPROTO_TCP)
		flow_meet(ctx, session, packet, direction, tick);
	else if (turn == TURN_CLOSES)
		standing_close(session);
	else if (turn == TURN_OPENS)
		standing_return(session);
}

/* Looks the session's next hop up again and remembers it. */
__noinline enum route session_route(ctx_t *ctx, struct session *session, enum direction direction, __u16 epoch,
				    __u32 *number)
{
	struct route_query query = {.ingress = ctx_ifindex(ctx)};
	enum route route;
	bool out = direction == DIRECTION_OUT;

	if (!session || !number)
		return ROUTE_NONE;
	query.source = out ? session->external_address : session->remote_address;
	query.destination = out ? session->remote_address : session->private_address;
	route = route_cached(ctx, &query, epoch);
	if (session->marks.as.route_epoch != epoch) {
		session->next_hop_in = 0;
		session->next_hop_out = 0;
		session->marks.as.route_epoch = epoch;
	}
	*number = query.number;
	if (route > ROUTE_NO_NEIGHBOUR)
		return route;
	if (query.side != (out ? SIDE_PUBLIC : SIDE_PRIVATE))
		return ROUTE_NONE;
	if (out)
		session->next_hop_out = query.number;
	else
		session->next_hop_in = query.number;
	return route;
}

static __always_inline void ttl_write(struct iphdr *ip, __u8 ttl)
{
	__u16 before = *(__u16 *)&ip->ttl, after;

	ip->ttl = ttl;
	after = *(__u16 *)&ip->ttl;
	ip->check = checksum_update(ip->check, checksum_fold((__u64)(__u16)~before + after));
}

static __always_inline bool forward_link(ctx_t *ctx, const struct next_hop *hop)
{
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct iphdr *ip = (void *)(eth + 1);

	if ((void *)(ip + 1) > (void *)(long)ctx->data_end)
		return false;
	ttl_write(ip, ip->ttl - 1);
	__builtin_memcpy(eth->h_dest, hop->destination, 6);
	__builtin_memcpy(eth->h_source, hop->source, 6);
	return true;
}

/* Sends the frame, translated by the caller, to hop; 0 stands for "no link address yet". */
static __always_inline int forward_send(ctx_t *ctx, const struct packet *packet, struct next_hop *hop, enum side side)
{
	if (!hop) {
		reason_count(REASON_FORWARDED_NO_NEIGHBOUR);
		return CTX_PASS;
	}
	/* A length that is not known is too long, too. */
	if (hop->redirect < CTX_REDIRECTS || (__u16)(packet->wire_length - 1) >= hop->key.as.mtu) {
		/* The kernel decrements the TTL, and fragments where the sender allows it. */
		reason_count(REASON_FORWARDED_BY_STACK);
		return CTX_PASS;
	}
	if (!packet_fill_sum(ctx, packet) || !forward_link(ctx, hop))
		return verdict(ctx, packet, REASON_DROP_INTERNAL, side);
	reason_count(REASON_FORWARDED);
	return ctx_redirect(ctx, hop->key.as.ifindex);
}

/* The next hop for the session's direction in *hop (0: no neighbour yet); ROUTE_FOUND or why there is none. */
static __always_inline enum route forward_hop(ctx_t *ctx, struct session *session, enum direction direction, __u32 tick,
					      __u16 epoch, struct next_hop **hop)
{
	__u32 number = direction == DIRECTION_OUT ? session->next_hop_out : session->next_hop_in;
	enum route route;

	*hop = 0;
	if (number && session->marks.as.route_epoch == epoch) {
		*hop = next_hop_at(number);
		if (*hop && tick - (*hop)->stamp < NEXT_HOP_FRESH) {
			if ((*hop)->used != tick)
				(*hop)->used = tick;
			return ROUTE_FOUND;
		}
	}
	route = session_route(ctx, session, direction, epoch, &number);
	*hop = route == ROUTE_FOUND ? next_hop_at(number) : 0;
	return route == ROUTE_NO_NEIGHBOUR ? ROUTE_FOUND : route;
}

static __always_inline int refuse_no_route(ctx_t *ctx, const struct packet *packet, enum side side)
{
	if (side == SIDE_PRIVATE)
		return refuse(ctx, packet, REASON_DROP_NO_ROUTE, side, ICMP_DEST_UNREACH, ICMP_NET_UNREACH, 0);
	return verdict(ctx, packet, REASON_DROP_NO_ROUTE, side);
}

/* The identification of a translated packet, and what a first fragment leaves for the others. */
static __always_inline enum reason forward_number(ctx_t *ctx, const struct packet *packet,
						  const struct session *session, enum direction direction)
{
	if (__builtin_expect(packet->fragment, 0))
		return direction == DIRECTION_OUT && (session->marks.as.flags & SESSION_HAIRPIN)
			       ? fragment_turn(ctx, packet, session)
			       : fragment_leave(ctx, packet, session, direction);
	if (direction == DIRECTION_OUT && !packet->dont_fragment &&
	    !identification_write(ctx, identification_next(session, ctx_segments(ctx))))
		return REASON_DROP_INTERNAL;
	return REASON_NONE;
}

/*
 * Of a connection by name, or by a cookie, whose host has not answered, or answers again: who reads what either side says of
 * that. Whether it came from inside goes along, handshake_is_hairpin. Comes back where nobody is to read it.
 */
static __always_inline void handshake_call(ctx_t *ctx, const struct packet *packet, enum direction direction,
					   enum origin origin)
{
	__u32 program = packet->tuple.protocol == IPPROTO_UDP ? PROGRAM_DATAGRAM : PROGRAM_WEB;
	struct flow *flow = flow_here();

	if (flow)
		flow->flags = packet->hairpin ? SESSION_HAIRPIN : 0;
	if (origin == ORIGIN_COOKIE)
		program = PROGRAM_OVERFLOW;
	bpf_tail_call(ctx, &programs, direction == DIRECTION_IN ? program : PROGRAM_HOST);
}

static __always_inline int handshake_enter(ctx_t *ctx, const struct packet *packet, enum direction direction,
					   enum origin origin)
{
	handshake_call(ctx, packet, direction, origin);
	return verdict(ctx, packet, REASON_DROP_INTERNAL, direction == DIRECTION_IN ? SIDE_PUBLIC : SIDE_PRIVATE);
}

/* What a session by name differs by from what its client was promised. */
static __always_inline enum reason forward_difference(ctx_t *ctx, struct packet *packet, struct session *session,
						      enum direction direction)
{
	if (DRY || __builtin_expect(!session_differs(session), 1))
		return REASON_NONE;
	if (direction == DIRECTION_OUT && host_begins_anew(session, packet))
		return REASON_DROP_SESSION_CONFLICT;
	return difference_apply(ctx, packet, session, direction) ? REASON_NONE : REASON_DROP_MALFORMED;
}

/*
 * A packet of a session that may pass. hairpin: it goes to another host behind this gateway, from DIRECTION_OUT. handshake: it
 * is of one that the data plane has answered, and whose host has not.
 */
static __always_inline int forward_on(ctx_t *ctx, struct packet *packet, struct session *session,
				      enum direction direction, __u16 epoch, bool handshake)
{
	enum side side = direction == DIRECTION_OUT ? SIDE_PRIVATE : SIDE_PUBLIC;
	__u32 tick = clock_tick();
	struct next_hop *hop;
	enum reason reason;

	if (!DRY && !handshake && __builtin_expect(session->marks.as.flags & SESSION_TENTATIVE, 0)) {
		if (session_waits(session))
			return handshake_enter(ctx, packet, direction, session->origin);
		reason = tentative_pass(ctx, packet, session, direction);

		if (proof_is_lost(reason) && refusals_are_on(packet))
			return refuse_stranger(ctx, packet, reason, side);
		if (reason != REASON_NONE)
			return verdict(ctx, packet, reason, side);
	}
	if (!DRY && direction == DIRECTION_OUT && __builtin_expect(packet->tcp_flags & TCP_FLAG_SYN, 0) &&
	    session_differs(session) && host_repeats(session, packet))
		handshake_call(ctx, packet, direction, session->origin);
	if (__builtin_expect(packet->ttl <= 1, 0))
		return refuse(ctx, packet, REASON_DROP_TTL_EXPIRED, side, ICMP_TIME_EXCEEDED, ICMP_EXC_TTL, 0);
	if (direction == DIRECTION_OUT && __builtin_expect(session->marks.as.flags & SESSION_HAIRPIN, 0)) {
		reason = forward_difference(ctx, packet, session, direction);
		if (reason != REASON_NONE)
			return verdict(ctx, packet, reason, side);
		flow_touch(ctx, session, packet, direction, tick);
		if (!rewrite_packet(ctx, packet, session, direction))
			return verdict(ctx, packet, REASON_DROP_INTERNAL, side);
		reason = forward_number(ctx, packet, session, direction);
		if (reason != REASON_NONE)
			return verdict(ctx, packet, reason, side);
		trace_step(TRACE_HAIRPIN, 0, session->external_address, session->external_port, 0);
		hairpin_enter(ctx, packet);
		return verdict(ctx, packet, REASON_DROP_INTERNAL, side);
	}
	if (__builtin_expect(forward_hop(ctx, session, direction, tick, epoch, &hop) != ROUTE_FOUND, 0))
		return refuse_no_route(ctx, packet, side);
	if (packet->dont_fragment) {
		/* The kernel's error would name a flow that the sender does not know. */
		__u32 most = hop ? hop->key.as.mtu : unknown_mtu(ctx, session, direction);

		if (__builtin_expect(packet->wire_length > most, 0))
			return refuse(ctx, packet, REASON_DROP_TOO_BIG, side, ICMP_DEST_UNREACH, ICMP_FRAG_NEEDED,
				      most);
	}
	if (!handshake) {
		reason = forward_difference(ctx, packet, session, direction);
		if (reason != REASON_NONE)
			return verdict(ctx, packet, reason, side);
	}
	flow_touch(ctx, session, packet, direction, tick);
	if (__builtin_expect(packet->tcp_flags & TCP_FLAG_SYN, 0))
		path_clamp(ctx, packet, session, hop ? hop->key.as.mtu : 0, direction);
	if (!rewrite_packet(ctx, packet, session, direction))
		return verdict(ctx, packet, REASON_DROP_INTERNAL, side);
	reason = forward_number(ctx, packet, session, direction);
	if (reason != REASON_NONE)
		return verdict(ctx, packet, reason, side);
	if (__builtin_expect(packet->fragment, 0)) {
		int action = first_release(ctx, session, direction, hop);

		if (action != CARRIER_STAYS)
			return action;
	}
	return forward_send(ctx, packet, hop, side);
}

static __always_inline int forward(ctx_t *ctx, struct packet *packet, struct session *session, enum direction direction,
				   __u16 epoch)
{
	return forward_on(ctx, packet, session, direction, epoch, false);
}
