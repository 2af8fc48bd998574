/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * TCP to the pool while a binding has no room for unproved sessions (pool/ring.h). A SYN is answered by a cookie, and nothing
 * is kept; the segment that brings the cookie back, with data or without, proves its sender. It claims, and becomes the SYN to
 * the binding's host. What the client says before that host has answered is not acknowledged here, and comes again
 * (RFC 9293 section 3.10.4 has it retransmit); such a segment may be the SYN once more, so that the host takes no sample of
 * the round trip from it (host.h). No daemon takes part.
 */
#pragma once

#include "../path/public_end.h"
#include "overflow_judge.h"
#include "side.h"

#define OVERFLOW_MSS 1460 /* promised to clients: any host behind links as long as Ethernet's takes it */

/* Which binding the packet meets. */
__noinline enum reason overflow_meet(const struct packet *packet, struct flow *flow)
{
	if (!packet || !flow)
		return REASON_DROP_INTERNAL;
	flow->origin = ORIGIN_POOL;
	flow_comes_in(flow, packet);
	return pool_binding(packet, flow);
}

/* The session from the pool that stands at the packet's tuple, 0 where there is none. */
static __always_inline __u32 overflow_standing(const struct packet *packet)
{
	__u32 number = handshake_standing(packet);
	struct session *session = number ? session_at(number) : 0;

	return session && session_is_lent(session->origin) ? number : 0;
}

/* The end of a packet that brings no cookie. */
static __always_inline int overflow_refuse(ctx_t *ctx, const struct packet *packet, enum reason reason)
{
	if (public_refuses(packet, reason) || (reason == REASON_DROP_COOKIE && refusals_are_on(packet)))
		return refuse_stranger(ctx, packet, reason, SIDE_PUBLIC);
	return verdict(ctx, packet, reason, SIDE_PUBLIC);
}

/* Makes of a SYN its answer. */
__noinline enum reason overflow_write(ctx_t *ctx, const struct packet *packet, const struct flow *flow)
{
	struct binding *binding;

	if (!packet || !flow)
		return REASON_DROP_INTERNAL;
	binding = binding_at(flow->binding);
	if (!binding || !syn_cookie_is_paid())
		return REASON_DROP_BUSY;
	ring_overflow(binding);
	return cookie_write(ctx, packet, binding->mss ? binding->mss : OVERFLOW_MSS, 0) ? REASON_ANSWERED_COOKIE
											: REASON_DROP_BUSY;
}

static __always_inline int overflow_answer(ctx_t *ctx, struct packet *packet, struct flow *flow)
{
	__u32 number = overflow_standing(packet);
	struct session *session = number ? session_at(number) : 0;
	enum reason reason = overflow_judge(ctx, packet, flow);

	if (reason != REASON_NONE)
		return overflow_refuse(ctx, packet, reason);
	if (session && !session_waits(session)) {
		if (!session_gives_way(session, packet))
			return verdict(ctx, packet, REASON_DROP_SESSION_CONFLICT, SIDE_PUBLIC); /* I4 */
		web_session_end(session, packet->generation); /* what comes behind the cookie is not its */
	}
	reason = overflow_write(ctx, packet, flow);
	if (reason != REASON_ANSWERED_COOKIE)
		return verdict(ctx, packet, reason, SIDE_PUBLIC);
	reason_count(reason);
	count_statistic(STATISTIC_OVERFLOWED);
	return ctx_redirect(ctx, ctx_ifindex(ctx));
}

/* The session of the connection, which waits for its host; 0 where there is none, and then none of another one either. */
static __always_inline struct session *overflow_session(const struct packet *packet, const struct flow *flow)
{
	__u32 number = overflow_standing(packet);
	struct session *session = number ? session_at(number) : 0;

	if (session && session->origin == ORIGIN_COOKIE && session_waits(session) && web_is_same(session, flow))
		return session;
	web_session_end(session, packet->generation);
	return 0;
}

/* Tells a client that has proved itself, by what it sent last, that there is nothing for it: else it would wait. */
static __always_inline int overflow_end(ctx_t *ctx, struct packet *packet, const struct flow *flow, enum reason reason)
{
	struct handshake what = {.flags = TCP_FLAG_RST, .back = true};
	struct offer offer = {};

	reason_count(reason);
	drop_sample(ctx, packet, reason, SIDE_PUBLIC);
	what.sequence = flow->first.acknowledges;
	what.partial = sum_stays(packet->sum, true);
	if (!handshake_write(ctx, packet, &what, &offer))
		return CTX_DROP;
	return ctx_redirect(ctx, ctx_ifindex(ctx));
}

/* Opens the session of a client whose cookie is good. The packet is the SYN to its host. */
static __always_inline enum reason overflow_open(ctx_t *ctx, struct packet *packet, struct flow *flow, __u32 *number)
{
	enum reason reason;

	flow->origin = ORIGIN_COOKIE;
	flow->flags |= SESSION_TENTATIVE;
	reason = web_judge(ctx, packet, flow);
	if (reason == REASON_NONE)
		reason = public_open(packet, flow, number);
	if (reason == REASON_NONE && !flow->opened)
		return REASON_DROP_BUSY;
	return reason;
}

/*
 * Makes of what brings a cookie back the SYN to the host: once, or again while that does not answer. *session is whose it is,
 * 0 where the packet ends, by the action.
 */
static __always_inline int overflow_connect(ctx_t *ctx, struct packet *packet, struct flow *flow,
					    struct session **session)
{
	struct session *found = overflow_session(packet, flow);
	enum reason reason = web_syn_write(ctx, packet, flow);
	__u32 number = 0;

	if (reason != REASON_NONE)
		return verdict(ctx, packet, reason, SIDE_PUBLIC);
	if (!found) {
		reason = overflow_open(ctx, packet, flow, &number);
		found = session_at(number);
	}
	if (reason == REASON_NONE && found && session_is_unproved(found))
		reason = proof_tcp(found, packet->generation, 0);
	if (reason == REASON_DROP_BUSY || reason == REASON_HELD_FOR_VERDICT) /* it comes again */
		return verdict(ctx, packet, reason, SIDE_PUBLIC);
	if (reason != REASON_NONE || !found)
		return overflow_end(ctx, packet, flow, reason == REASON_NONE ? REASON_DROP_INTERNAL : reason);
	*session = found;
	return CTX_DROP;
}

/* The client goes before its host has answered: by its very next number it ends the session, and its RST goes to the host. */
static __always_inline int overflow_reset(ctx_t *ctx, const struct packet *packet, const struct flow *flow,
					  struct session **session)
{
	__u32 number = overflow_standing(packet);
	struct session *found = number ? session_at(number) : 0;

	if (!found || found->origin != ORIGIN_COOKIE || !session_waits(found) ||
	    flow->first.sequence != found->holds.offered.begun + 1)
		return verdict(ctx, packet, REASON_DROP_NOT_SYN, SIDE_PUBLIC);
	web_session_end(found, packet->generation);
	*session = found;
	return CTX_DROP;
}

/* A segment that is no SYN. */
static __always_inline int overflow_segment(ctx_t *ctx, struct packet *packet, struct flow *flow,
					    struct session **session)
{
	enum reason reason = web_guard(ctx, packet); /* of a session's, public_admit has not asked */
	enum syn_cookie_said said;

	if (reason != REASON_NONE)
		return verdict(ctx, packet, reason, SIDE_PUBLIC);
	if (packet->tcp_flags & TCP_FLAG_SYN)
		return verdict(ctx, packet, REASON_DROP_NOT_SYN, SIDE_PUBLIC);
	if (!web_numbers(ctx, packet, flow))
		return verdict(ctx, packet, REASON_DROP_MALFORMED, SIDE_PUBLIC);
	if (packet->tcp_flags & TCP_FLAG_RST)
		return overflow_reset(ctx, packet, flow, session);
	said = web_recognise(ctx, packet, flow);
	if (said == SYN_COOKIE_FIRST)
		return overflow_connect(ctx, packet, flow, session);
	reason = said == SYN_COOKIE_LATER ? REASON_DROP_CLAIM_UNPROVED : web_protect(ctx, packet);
	return overflow_refuse(ctx, packet, reason == REASON_NONE ? REASON_DROP_COOKIE : reason);
}

/* Entered by tail call. Whether the sender of a SYN is banned, or not where its address is, public_admit has asked. */
static __always_inline int overflow_side(ctx_t *ctx)
{
	struct packet packet = {};
	enum reason reason = packet_parse(ctx, &packet);
	struct control *control = control_get();
	struct flow *flow = flow_new();
	struct session *session = 0;
	int action;

	if (!control || !flow || reason != REASON_NONE || packet.kind != PACKET_FLOW ||
	    packet.tuple.protocol != IPPROTO_TCP)
		return verdict(ctx, &packet, reason == REASON_NONE ? REASON_DROP_INTERNAL : reason, SIDE_PUBLIC);
	packet.generation = *(volatile __u32 *)&control->generation;
	reason = overflow_meet(&packet, flow);
	if (reason != REASON_NONE)
		return overflow_refuse(ctx, &packet, reason);
	if (tcp_is_pure_syn(packet.tcp_flags))
		return overflow_answer(ctx, &packet, flow);
	action = overflow_segment(ctx, &packet, flow, &session);
	return session ? forward_on(ctx, &packet, session, DIRECTION_IN, control->route_epoch, true) : action;
}
