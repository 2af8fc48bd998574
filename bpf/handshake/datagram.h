/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Datagrams of QUIC to web addresses that have no session, or whose session has rested. The daemon reads the name in a
 * client's Initials and says to which host they go; then it sends them again, and the first one opens the session. Nothing
 * is answered here: a client that hears nothing comes by TCP. One with a short header names nobody: from a client that has
 * sessions with one host here it is that host's, as a NAT may have given the client another port (RFC 9000 section 9.3).
 * Whoever forges one gets no further than to a host that the address already talks to, and not often.
 */
#pragma once

#include "../include/budget.h"
#include "side.h"

#define QUIC_LONG  0xc0 /* long header and fixed bit, RFC 9000 section 17.2 */
#define QUIC_SHORT 0x80 /* not set: short header; the fixed bit may be greased (RFC 9287) */

#define QUIC_INITIAL_LEAST 1200 /* octets of a datagram with a client's Initial, RFC 9000 section 14.1 */
#define QUIC_SHORT_LEAST   21	/* of any other: what header protection samples, RFC 9001 section 5.4.2 */

#define INITIALS_PER_SECOND   5000
#define REBINDINGS_PER_SECOND 1000
#define DATAGRAM_BURST	      50000000ULL /* ns of these: 250 Initials leave room in the ring for what TCP has to say */

/* What the first octets of a datagram tell, of which nothing is proved. */
enum quic_kind {
	QUIC_IS_OTHER,
	QUIC_IS_INITIAL,
	QUIC_IS_SHORT,
};

static __always_inline enum quic_kind quic_kind_of(ctx_t *ctx, const struct packet *packet)
{
	struct {
		struct udphdr udp;
		__u8 first;
		__u8 pad[3];
	} head = {};
	__u32 size = ctx_segment_size(ctx);

	if (packet->fragment || ctx_load(ctx, packet->l4, &head, sizeof(head.udp) + sizeof(head.first)))
		return QUIC_IS_OTHER;
	if (!size)
		size = bpf_ntohs(head.udp.len) - sizeof(head.udp);
	if (!(head.first & QUIC_SHORT))
		return size >= QUIC_SHORT_LEAST ? QUIC_IS_SHORT : QUIC_IS_OTHER;
	return (head.first & QUIC_LONG) == QUIC_LONG && size >= QUIC_INITIAL_LEAST ? QUIC_IS_INITIAL : QUIC_IS_OTHER;
}

static __always_inline bool datagram_is_paid(__u32 which, __u32 rate)
{
	return budget_pace(bpf_map_lookup_elem(&datagram_budgets, &which), rate, DATAGRAM_BURST);
}

/* The only host that the sender has sessions with at this port of the web address. */
__noinline enum reason guest_find(const struct packet *packet, struct flow *flow)
{
	struct guest other = {.other = true};
	struct session *session;
	__u32 number;

	if (!packet || !flow)
		return REASON_DROP_INTERNAL;
	other.key = destination_key(&packet->tuple, KEY_GUEST);
	other.key.remote_port = 0;
	number = session_find_indexed(&other.key);
	session = session_at(number);
	if (!number || !session)
		return REASON_DROP_NO_SESSION;
	other.host = session->private_address;
	other.port = session->private_port;
	if (guest_owner(&other))
		return REASON_DROP_REBINDING;
	flow->origin = ORIGIN_WEB;
	flow->private_address = other.host;
	flow->private_port = other.port;
	flow->name = session->holds.guest.name;
	return datagram_is_paid(DATAGRAM_BUDGET_REBINDINGS, REBINDINGS_PER_SECOND) ? REASON_NONE : REASON_DROP_WEB_FULL;
}

/* Makes a session that was just opened known by its client. Not by who opens it, for the stack. */
__noinline int guest_enter(__u32 number)
{
	struct session *session = session_at(number);
	struct stripe *stripe;
	int joined = 0;

	if (!session)
		return 0;
	stripe = lock_stripe(endpoint_hash(session->private_address, session->private_port, session->protocol));
	if (!stripe || !lock_take(stripe))
		return 0; /* it does without */
	if (session->life.as.phase == PHASE_LIVE && session_is_guest(session))
		joined = guest_join(number, session);
	lock_release(stripe);
	return joined;
}

/* Whether a session goes where the flow is to go. */
static __always_inline bool guest_is_of(const struct session *session, const struct flow *flow)
{
	return session->private_address == flow->private_address && session->private_port == flow->private_port;
}

/* A client begins anew by a port that has rested: a session of it with another host than it asks for now is over. */
__noinline int guest_give_way(const struct packet *packet, const struct flow *flow)
{
	struct settings *settings = packet ? settings_get(packet->generation) : 0;
	__u32 number = web_standing(packet);
	struct session *session = number ? session_at(number) : 0;
	struct stripe *stripe;

	if (!flow || !settings || !session || guest_is_of(session, flow))
		return 0;
	stripe = lock_stripe(endpoint_hash(session->private_address, session->private_port, session->protocol));
	if (!stripe || !lock_take(stripe))
		return 0; /* the new one finds no place, and its client sends again */
	if (session->life.as.phase == PHASE_LIVE && guest_rests(session))
		proof_fail(session, settings);
	lock_release(stripe);
	return 1;
}

/* The session of a datagram that is no Initial, 0 where there is none. */
__noinline __u32 guest_standing(ctx_t *ctx, const struct packet *packet)
{
	if (!packet || quic_kind_of(ctx, packet) == QUIC_IS_INITIAL)
		return 0;
	return web_standing(packet);
}

/* Hands an Initial to the daemon. */
static __always_inline enum reason datagram_hold(ctx_t *ctx, const struct packet *packet)
{
	if (!web_is_read())
		return REASON_DROP_DAEMON_AWAY;
	if (!datagram_is_paid(DATAGRAM_BUDGET_INITIALS, INITIALS_PER_SECOND) ||
	    !web_report_frame(ctx, packet, WEB_DATAGRAM))
		return REASON_DROP_WEB_FULL;
	return REASON_HELD_FOR_NAME;
}

/* Where it goes: REASON_NONE, flow says where; or how it ends. */
static __always_inline enum reason datagram_judge(ctx_t *ctx, struct packet *packet, struct flow *flow)
{
	__u32 said = web_said(packet, flow);
	enum reason reason;

	if (said >= WEB_SAID_NO)
		return said - WEB_SAID_NO;
	if (said == WEB_SAID_HOST) { /* the protection was asked when it came first */
		guest_give_way(packet, flow);
		return REASON_NONE;
	}
	reason = web_protect(ctx, packet);
	if (reason != REASON_NONE)
		return reason;
	switch (quic_kind_of(ctx, packet)) {
	case QUIC_IS_INITIAL:
		return datagram_hold(ctx, packet);
	case QUIC_IS_SHORT:
		return guest_find(packet, flow);
	default:
		return REASON_DROP_NO_SESSION;
	}
}

/* Entered by tail call. */
static __always_inline int datagram_side(ctx_t *ctx)
{
	struct packet packet = {.hairpin = handshake_is_hairpin()};
	enum reason reason = packet_parse(ctx, &packet);
	struct control *control = control_get();
	struct flow *flow = flow_new();
	struct session *session;
	__u32 number = 0;

	if (!control || !flow || reason != REASON_NONE || packet.kind != PACKET_FLOW ||
	    packet.tuple.protocol != IPPROTO_UDP)
		return verdict(ctx, &packet, reason == REASON_NONE ? REASON_DROP_INTERNAL : reason, SIDE_PUBLIC);
	packet.generation = *(volatile __u32 *)&control->generation;
	reason = web_guard(ctx, &packet);
	if (reason == REASON_NONE)
		number = guest_standing(ctx, &packet);
	if (!number && reason == REASON_NONE)
		reason = datagram_judge(ctx, &packet, flow);
	if (reason == REASON_HELD_FOR_NAME) {
		reason_count(reason);
		return CTX_DROP;
	}
	if (!number && reason == REASON_NONE) {
		flow_comes_in(flow, &packet);
		reason = web_judge(ctx, &packet, flow);
		if (reason == REASON_NONE)
			reason = public_open(&packet, flow, &number);
	}
	session = reason == REASON_NONE ? session_entered(number) : 0;
	if (!session)
		return verdict(ctx, &packet, reason == REASON_NONE ? REASON_DROP_INTERNAL : reason, SIDE_PUBLIC);
	if (flow->opened)
		guest_enter(number);
	return forward(ctx, &packet, session, DIRECTION_IN, control->route_epoch);
}
