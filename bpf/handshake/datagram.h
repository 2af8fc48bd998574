/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Datagrams of QUIC to web addresses that have no session, or begin another connection by the port of one
 * (connection_id.h). The daemon reads the name in a client's Initials and says to which host they go; then it sends them
 * again, and the first one opens the session. Nothing is answered here: a client that hears nothing comes by TCP. One with
 * a short header names nobody: from a client that has sessions with one host here it is that host's, as a NAT may have
 * given the client another port (RFC 9000 section 9.3). Whoever forges one gets no further than to a host that the address
 * already talks to, and not often.
 */
#pragma once

#include "../include/budget.h"
#include "connection_id.h"
#include "side.h"

#define INITIALS_PER_SECOND   4000
#define REBINDINGS_PER_SECOND 1000
#define DATAGRAM_BURST	      50000000ULL /* ns of these: 200 Initials leave room in the ring for what TCP has to say */

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

/* A client begins anew: its session with another host than it asks for now is over, if it has rested. */
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

/* The session of a datagram, 0 where there is none, or where it begins another connection. */
__noinline __u32 guest_standing(ctx_t *ctx, const struct packet *packet)
{
	__u32 number = packet ? web_standing(packet) : 0;
	struct session *session = number ? session_at(number) : 0;

	return session && !guest_begins(ctx, packet, session) ? number : 0;
}

/* Hands an Initial to the daemon. */
static __always_inline enum reason datagram_hold(ctx_t *ctx, const struct packet *packet)
{
	enum web_event_kind kind = web_standing(packet) ? WEB_ANEW : WEB_DATAGRAM;

	if (!web_is_read())
		return REASON_DROP_DAEMON_AWAY;
	if (!datagram_is_paid(DATAGRAM_BUDGET_INITIALS, INITIALS_PER_SECOND / web_frame_shares(ctx)) ||
	    !web_report_frame(ctx, packet, kind))
		return REASON_DROP_WEB_FULL;
	return REASON_HELD_FOR_NAME;
}

/* Where it goes: REASON_NONE, flow says where, or *number has its session; or how it ends. */
static __always_inline enum reason datagram_judge(ctx_t *ctx, struct packet *packet, struct flow *flow, __u32 *number)
{
	__u32 said = web_said(packet, flow, quic_begun(ctx, packet));
	enum reason reason;

	if (said == WEB_SAID_NO) { /* and no reason: it goes on */
		*number = web_standing(packet);
		return *number ? REASON_NONE : REASON_DROP_NO_SESSION;
	}
	if (said > WEB_SAID_NO)
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
	bool begins;

	if (!control || !flow || reason != REASON_NONE || packet.kind != PACKET_FLOW ||
	    packet.tuple.protocol != IPPROTO_UDP)
		return verdict(ctx, &packet, reason == REASON_NONE ? REASON_DROP_INTERNAL : reason, SIDE_PUBLIC);
	packet.generation = *(volatile __u32 *)&control->generation;
	reason = web_guard(ctx, &packet);
	if (reason == REASON_NONE)
		number = guest_standing(ctx, &packet);
	begins = !number;
	if (begins && reason == REASON_NONE)
		reason = datagram_judge(ctx, &packet, flow, &number);
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
	if (begins)
		guest_note(ctx, &packet, session);
	if (flow->opened)
		guest_enter(number);
	return forward(ctx, &packet, session, DIRECTION_IN, control->route_epoch);
}
