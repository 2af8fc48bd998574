/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Chains on a machine with nobody behind it. Its sessions are those of a host with an address of its own, which is the same
 * inside and outside: nothing is translated, and what may pass is the kernel's.
 */
#pragma once

#include "forward.h"
#include "public_end.h"
#include "public_open.h"
#include "single_socket.h"
#include "../nat/icmp.h"

/*
 * Whether a packet without a session may open one: REASON_NONE, or REASON_TO_GATEWAY where it is of nothing that begins. An open
 * connection that came in is one of an earlier policy, which is judged as such.
 */
__noinline enum reason single_admit(ctx_t *ctx, const struct packet *packet, struct flow *flow)
{
	if (!packet || !flow)
		return REASON_DROP_INTERNAL;
	if (source_is_banned(packet))
		return REASON_DROP_BANNED;
	if (is_lease(packet) || (packet->tuple.protocol == IPPROTO_ICMP && packet->reply))
		return REASON_TO_GATEWAY;
	if (packet->tuple.protocol == IPPROTO_TCP && !tcp_is_pure_syn(packet->tcp_flags)) {
		if ((packet->tcp_flags & TCP_FLAG_RST) || connection_of(ctx, &packet->tuple) != CONNECTION_IN)
			return REASON_TO_GATEWAY;
		flow->established = true;
		flow->policy = policy_epoch(packet->generation - 1);
	}
	flow_comes_in(flow, packet);
	flow->origin = ORIGIN_OWN_IN;
	flow->private_address = packet->tuple.destination;
	flow->private_port = packet->tuple.destination_port;
	return REASON_NONE;
}

__noinline enum reason single_open(const struct packet *packet, struct flow *flow, __u32 *number)
{
	if (!packet || !flow || !number)
		return REASON_DROP_INTERNAL;
	return outside_open(packet, flow, number);
}

/* The numbers of a connection that was open before: nobody has seen how it began. */
static __always_inline void single_follow(struct session *session, const struct packet *packet,
					  enum direction direction)
{
	bool out = direction == DIRECTION_OUT;

	session->proof.guard.out = out ? packet->sequence : packet->acknowledges;
	session->proof.guard.in = out ? packet->acknowledges : packet->sequence;
}

/* The open session of a packet that comes in, 0 where it has none. */
static __always_inline struct session *single_find(const struct packet *packet)
{
	struct session_key key = destination_key(&packet->tuple, KEY_INSIDE);
	__u32 number = session_find(&key);
	struct session *session = session_at(number);

	if (number && (!session || public_is_over(session, packet)))
		number = 0;
	trace_step(TRACE_FIND, number != 0, 0, 0, number);
	return number ? session : 0;
}

/* What chains say of a packet that comes in: REASON_NONE, or why it ends. */
static __always_inline enum reason single_judge(ctx_t *ctx, struct packet *packet)
{
	struct session *session = single_find(packet);
	struct flow *flow = 0;
	enum reason reason;
	__u32 number = 0;

	if (!session) {
		flow = flow_new();
		if (!flow)
			return REASON_DROP_INTERNAL;
		reason = single_admit(ctx, packet, flow);
		if (reason == REASON_NONE && !flow->established)
			reason = chain_judge(ctx, packet, flow);
		if (reason != REASON_NONE)
			return reason == REASON_TO_GATEWAY ? REASON_NONE : reason;
		reason = single_open(packet, flow, &number);
		if (reason != REASON_NONE) /* what is open goes on, also where there is no room */
			return flow->established ? REASON_NONE : reason;
		session = session_entered(number);
		if (!session)
			return REASON_DROP_INTERNAL;
		if (!DRY && flow->established && flow->opened)
			single_follow(session, packet, DIRECTION_IN);
	}
	session = dry_copy(session);
	if (!flow || flow->established) {
		reason = open_judge(ctx, packet, session, DIRECTION_IN);
		if (reason != REASON_NONE)
			return reason;
	}
	flow_touch(ctx, session, packet, DIRECTION_IN, clock_tick());
	return REASON_NONE;
}

/* A packet of a flow: chains are asked behind the protection, as on a gateway. */
static __always_inline int single_flow(ctx_t *ctx, struct packet *packet)
{
	enum reason reason = input_judge(ctx, packet, true, input_is_inward(packet, true));

	if (reason == REASON_DROP_HONEYPOT)
		return honeypot_respond(ctx, packet);
	if (reason == REASON_NONE)
		reason = single_judge(ctx, packet);
	return verdict(ctx, packet, reason == REASON_NONE ? REASON_TO_GATEWAY : reason, SIDE_PUBLIC);
}

/* The session that an ICMP error is about: the quoted packet is one that the machine sent. 0: none. */
__noinline __u32 single_quoted(ctx_t *ctx, const struct packet *packet)
{
	struct quoted quoted = {};
	struct session_key key;

	if (!packet || quoted_parse(ctx, packet, &quoted) != REASON_NONE)
		return 0;
	key = source_key(&quoted.tuple);
	return session_find(&key);
}

/* An ICMP error is treated as the session that it is about; about none it is the kernel's. */
static __always_inline int single_error(ctx_t *ctx, struct packet *packet)
{
	__u32 number = single_quoted(ctx, packet);
	struct session *session = number ? dry_copy(session_at(number)) : 0;
	enum reason reason = REASON_NONE;

	if (source_is_banned(packet))
		reason = REASON_DROP_BANNED;
	else if (session)
		reason = error_judge(ctx, session, packet, DIRECTION_IN);
	return verdict(ctx, packet, reason == REASON_NONE ? REASON_TO_GATEWAY : reason, SIDE_PUBLIC);
}
