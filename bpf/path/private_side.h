/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packets from inside: an open session's, or the first of one that goes out.
 */
#pragma once

#include "forward.h"
#include "private_error.h"
#include "private_open.h"
#include "../answer/private_refuse.h"
#include "../fragment/enter.h"

/* What parsing could not make a flow of. On its own, for the stack of the entry. */
__noinline int private_unparsed(ctx_t *ctx, const struct packet *packet, enum reason reason)
{
	if (packet && reason == REASON_DROP_FRAGMENT) {
		if (fragment_is_awaited(packet, FRAGMENT_OUT))
			fragment_enter(ctx, FRAGMENT_OUT);
		else if (destination_is_outside(ctx, packet))
			return verdict(ctx, packet, reason, SIDE_PRIVATE);
	}
	return packet ? verdict(ctx, packet, unparsed(ctx, packet, reason, SIDE_PRIVATE), SIDE_PRIVATE) : CTX_DROP;
}

/* The open session of the packet, or 0; its homes. */
static __always_inline __u32 private_find(struct packet *packet)
{
	struct session_key key = {};

	key.local = packet->tuple.source;
	key.remote = packet->tuple.destination;
	key.local_port = packet->tuple.source_port;
	key.remote_port = packet->tuple.destination_port;
	key.protocol = packet->tuple.protocol;
	key.side = KEY_INSIDE;
	packet->homes = homes_inside(&key);
	return session_find_inside(&key, packet->homes);
}

static __always_inline int private_side(ctx_t *ctx)
{
	struct packet packet = {};
	enum reason reason = packet_parse(ctx, &packet);
	struct control *control = control_get();
	struct session *session;
	__u32 number;

	if (control)
		packet.generation = *(volatile __u32 *)&control->generation;
	if (reason != REASON_NONE || !control)
		return private_unparsed(ctx, &packet, reason);
	if (packet.kind == PACKET_ICMP_ERROR)
		return private_error(ctx, &packet);
	if (__builtin_expect(packet.kind != PACKET_FLOW, 0))
		return not_ipv4(ctx, &packet, SIDE_PRIVATE);
	number = private_find(&packet);
	session = session_at(number);
	if (!session)
		return verdict(ctx, &packet, REASON_DROP_INTERNAL, SIDE_PRIVATE);
	if (DRY)
		trace_step(TRACE_FIND, number && !session_is_over(session), 0, 0, number);
	if (__builtin_expect(!number || session_is_over(session), 0)) {
		struct flow *flow = flow_new();

		if (!flow)
			return verdict(ctx, &packet, REASON_DROP_INTERNAL, SIDE_PRIVATE);
		reason = private_admit(ctx, &packet, flow);
		if (reason == REASON_NONE)
			reason = chain_judge(ctx, &packet, flow);
		if (reason == REASON_NONE)
			reason = private_open(ctx, &packet, flow, &number);
		if (reason != REASON_NONE)
			return private_refuse(ctx, &packet, reason);
		session = session_entered(number);
		if (!session)
			return verdict(ctx, &packet, REASON_DROP_INTERNAL, SIDE_PRIVATE);
		session = dry_copy(session);
	} else {
		session = dry_copy(session);
		reason = forward_judge(ctx, &packet, session, DIRECTION_OUT);
		if (__builtin_expect(reason != REASON_NONE, 0))
			return forward_refuse(ctx, &packet, session, reason);
	}
	return forward(ctx, &packet, session, DIRECTION_OUT, control->route_epoch);
}
