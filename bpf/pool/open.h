/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The first packet of a flow to a pool address: which binding it meets, whether it may pass, and the session that it opens.
 */
#pragma once

#include "../path/chain.h"
#include "../path/outside_open.h"
#include "tentative.h"

/* The host, and its port, that the packet's bound port stands for. */
static __always_inline enum reason pool_way(const struct packet *packet, struct flow *flow)
{
	__u32 slot = bound_find(&packet->tuple);
	struct bound_port *port = bound_port_at(slot);
	struct binding *binding;
	bool whole;

	if (dry_lent(&flow->private_address, &flow->private_port, &whole)) {
		flow->flags = whole ? SESSION_WHOLE_HOST : 0;
		return REASON_NONE;
	}
	if (!slot || !port)
		return REASON_DROP_NO_BINDING;
	flow->binding = port->binding;
	flow->number = port->number;
	flow->private_port = port->host_port ? port->host_port : packet->tuple.destination_port;
	flow->flags = port->protocol ? 0 : SESSION_WHOLE_HOST;
	binding = binding_at(flow->binding);
	/* The port may have gone to another, and the binding, too, since it was found. */
	if (!binding || binding->address != packet->tuple.destination || !binding_is(binding, flow->number))
		return REASON_DROP_NO_BINDING;
	flow->private_address = binding->host;
	flow->name = binding->name;
	trace_step(TRACE_BINDING, 0, flow->private_address, flow->private_port, flow->name);
	return REASON_NONE;
}

__noinline enum reason pool_open(const struct packet *packet, __u32 *number)
{
	struct flow *flow = flow_new();
	enum reason reason;

	if (!packet || !number || !flow)
		return REASON_DROP_INTERNAL;
	reason = pool_way(packet, flow);
	if (reason == REASON_NONE)
		reason = may_open(packet);
	if (reason != REASON_NONE)
		return reason;
	flow->remote_address = packet->tuple.source;
	flow->remote_port = packet->tuple.source_port;
	flow->external_address = packet->tuple.destination;
	flow->external_port = packet->tuple.destination_port;
	flow->protocol = packet->tuple.protocol;
	flow->origin = ORIGIN_POOL;
	if (packet->hairpin)
		flow->flags |= SESSION_HAIRPIN;
	if (flow->protocol == IPPROTO_TCP)
		flow->flags |= SESSION_TENTATIVE;
	flow->judged = chain_judged(packet);
	reason = service_judge(flow->private_address, flow->private_port, flow->protocol,
			       ORIGIN_POOL << 8 | flow->flags, packet->generation);
	if (reason == REASON_NONE)
		reason = chain_judge_in(packet, flow->private_address, flow->private_port);
	if (reason == ASK_CHAIN)
		chain_came_to(flow->external_port);
	if (reason != REASON_NONE)
		return reason;
	reason = outside_open(packet, flow, number);
	if (!DRY && flow->opened && (flow->flags & SESSION_TENTATIVE))
		tentative_put(flow->binding, *number, packet->generation);
	return reason;
}
