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
#include "../packet/parse.h"
#include "../tunnel/proxy.h"

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

/* The open session of the packet, 0 where it has none; its buckets. */
static __always_inline struct session *private_find(struct packet *packet)
{
	struct session_key key = source_key(&packet->tuple);
	struct session *session;
	__u32 number;

	packet->buckets = record_buckets_inside(&key);
	number = session_find_inside(&key, packet->buckets);
	session = session_at(number);
	if (number && (!session || session_is_over(session)))
		number = 0;
	trace_step(TRACE_FIND, number != 0, 0, 0, number);
	return number ? session : 0;
}

static __always_inline int private_side(ctx_t *ctx)
{
	struct packet packet = {};
	enum reason reason = packet_parse(ctx, &packet);
	struct control *control = control_get();
	struct session *session;

	if (!control)
		return private_unparsed(ctx, &packet, reason);
	packet.generation = *(volatile __u32 *)&control->generation;
	/* Later fragments and errors, too. */
	if (__builtin_expect(address_is_proxy(control, packet.tuple.destination), 0))
		return edge_enter(ctx, &packet, PROGRAM_EDGE_OUT, SIDE_PRIVATE);
	if (reason != REASON_NONE)
		return private_unparsed(ctx, &packet, reason);
	if (packet.kind == PACKET_ICMP_ERROR)
		return private_error(ctx, &packet);
	if (__builtin_expect(packet.kind != PACKET_FLOW, 0))
		return not_ipv4(ctx, &packet, SIDE_PRIVATE);
	session = private_find(&packet);
	if (__builtin_expect(session != 0, 1)) {
		if (__builtin_expect(session_is_edge(session->origin), 0)) /* its range has gone, and it is to end */
			return verdict(ctx, &packet, REASON_DROP_NO_PACT, SIDE_PRIVATE);
		session = dry_copy(session);
		reason = forward_judge(ctx, &packet, session, DIRECTION_OUT);
		if (__builtin_expect(reason != REASON_NONE, 0))
			return forward_refuse(ctx, &packet, session, reason);
	} else {
		struct flow *flow = flow_new();
		__u32 number = 0;

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
	}
	return forward(ctx, &packet, session, DIRECTION_OUT, control->route_epoch);
}
