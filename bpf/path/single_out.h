/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What leaves a machine with nobody behind it, where it has chains: packets of its sessions, and what it begins itself, so that
 * replies are known. Whatever is no flow leaves as it is.
 */
#pragma once

#include "private_open.h"
#include "private_side.h"
#include "single_flow.h"

/* As single_admit. */
__noinline enum reason single_out_admit(ctx_t *ctx, const struct packet *packet, struct flow *flow)
{
	const struct tuple *tuple;

	if (!packet || !flow)
		return REASON_DROP_INTERNAL;
	tuple = &packet->tuple;
	if (tuple->protocol == IPPROTO_ICMP && packet->reply)
		return REASON_TO_GATEWAY;
	if (tuple->protocol == IPPROTO_TCP && !tcp_is_pure_syn(packet->tcp_flags)) {
		struct tuple comes = {tuple->destination, tuple->source, tuple->destination_port, tuple->source_port,
				      tuple->protocol};

		if ((packet->tcp_flags & TCP_FLAG_RST) || connection_of(ctx, &comes) != CONNECTION_OUT)
			return REASON_TO_GATEWAY;
		flow->established = true;
		flow->policy = policy_epoch(packet->generation - 1);
	}
	if (is_banned(tuple->destination))
		return REASON_DROP_BANNED;
	flow->origin = ORIGIN_OWN;
	flow->private_address = tuple->source;
	flow->private_port = tuple->source_port;
	flow->remote_address = tuple->destination;
	flow->remote_port = tuple->destination_port;
	flow->external_address = tuple->source;
	flow->protocol = tuple->protocol;
	flow->buckets = packet->buckets;
	return REASON_NONE;
}

/* What chains say of a packet that leaves: REASON_NONE, or why it ends. */
static __always_inline enum reason single_out_judge(ctx_t *ctx, struct packet *packet)
{
	struct session *session = private_find(packet);
	struct flow *flow = 0;
	enum reason reason;
	__u32 number = 0;

	if (!session) {
		flow = flow_new();
		if (!flow)
			return REASON_NONE;
		reason = single_out_admit(ctx, packet, flow);
		if (reason == REASON_NONE && !flow->established)
			reason = chain_judge(ctx, packet, flow);
		if (reason != REASON_NONE)
			return reason == REASON_TO_GATEWAY ? REASON_NONE : reason;
		/* What the machine begins wants no room: without a session it leaves, too. */
		if (private_open(ctx, packet, flow, &number) != REASON_NONE)
			return REASON_NONE;
		session = session_at(number);
		if (!session)
			return REASON_NONE;
		if (flow->established && session->policy == flow->policy)
			single_follow(session, packet, DIRECTION_OUT);
	}
	if (!flow || flow->established) {
		reason = open_judge(ctx, packet, session, DIRECTION_OUT);
		if (reason != REASON_NONE)
			return reason;
	}
	flow_touch(ctx, session, packet, DIRECTION_OUT, clock_tick());
	return REASON_NONE;
}

static __always_inline int single_out(ctx_t *ctx)
{
	struct control *control = control_get();
	struct packet packet = {};
	enum reason reason;

	if (packet_parse(ctx, &packet) != REASON_NONE || packet.kind != PACKET_FLOW || !control)
		return CTX_PASS;
	packet.generation = *(volatile __u32 *)&control->generation;
	reason = single_out_judge(ctx, &packet);
	return reason == REASON_NONE ? CTX_PASS : verdict(ctx, &packet, reason, SIDE_PUBLIC);
}
