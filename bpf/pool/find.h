/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The first packet of a flow to a pool address: which binding it meets, and whether that is open to it.
 */
#pragma once

#include "../conntrack/flow.h"
#include "../path/chain.h"
#include "ring.h"

/* The host, and its port, that the packet's bound port stands for. */
static __always_inline enum reason pool_binding(const struct packet *packet, struct flow *flow)
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

/*
 * Whether a cookie answers, or has answered, the packet in the host's stead: a SYN where the ring has no place for it, or what
 * comes behind one. reason: why the packet opens nothing. Hosts inside have no cookies: their senders are known.
 */
static __always_inline bool pool_overflows(const struct packet *packet, struct flow *flow, enum reason reason)
{
	struct binding *binding;

	if (packet->tuple.protocol != IPPROTO_TCP || dry_is_lent())
		return false;
	if (reason == REASON_NONE) {
		flow->place = ring_find(flow->binding);
		return !flow->place && !packet->hairpin;
	}
	binding = reason == REASON_DROP_NOT_SYN && !packet->hairpin ? binding_at(flow->binding) : 0;
	return binding && ring_has_overflowed(binding);
}

/* REASON_NONE where chains are to be asked, REASON_ANSWERED_COOKIE where handshake/overflow.h is. */
__noinline enum reason pool_find(const struct packet *packet, struct flow *flow)
{
	enum reason reason;

	if (!packet || !flow)
		return REASON_DROP_INTERNAL;
	flow->origin = ORIGIN_POOL;
	reason = pool_binding(packet, flow);
	if (reason == REASON_NONE)
		reason = may_open(packet);
	if (pool_overflows(packet, flow, reason))
		return REASON_ANSWERED_COOKIE;
	if (reason != REASON_NONE)
		return reason;
	if (packet->tuple.protocol == IPPROTO_TCP)
		flow->flags |= SESSION_TENTATIVE;
	return service_judge(flow->private_address, flow->private_port, packet->tuple.protocol,
			     ORIGIN_POOL << 8 | flow->flags, packet->generation);
}
