/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a packet from inside meets before chains are asked whether it may open a session: where it goes, and how it leaves. What
 * it is about to open is told by a struct flow.
 */
#pragma once

#include "../conntrack/flow.h"
#include "../guard/gateway_traffic.h"
#include "../nat/own.h"
#include "../pool/binding.h"
#include "../route/cache.h"

/*
 * Whether the destination is outside. Where no rule looks at sources, or the packet keeps its own, the kernel is asked
 * once for a new flow, as for a packet that is translated already; any other answer is asked for again with the packet's
 * own source.
 */
static __always_inline bool private_leaves(ctx_t *ctx, const struct packet *packet, struct flow *flow)
{
	struct route_query query = {.destination = packet->tuple.destination, .ingress = ctx_ifindex(ctx)};
	struct control *control = control_get();

	if (!control || (!control->source_blind && flow->external_address != packet->tuple.source))
		return false;
	flow->route_epoch = *(volatile __u32 *)&control->route_epoch;
	query.source = flow->external_address ? flow->external_address : slot_address(slot_of(packet->tuple.source));
	if (!query.source || route_cached(ctx, &query, flow->route_epoch) != ROUTE_FOUND || query.side != SIDE_PUBLIC)
		return false;
	flow->next_hop = query.number;
	return true;
}

/* REASON_NONE when the destination is outside; where and how the flow leaves. */
__noinline enum reason private_destination(ctx_t *ctx, const struct packet *packet, struct flow *flow)
{
	__u32 destination;
	struct address *address;

	if (!packet || !flow)
		return REASON_DROP_INTERNAL;
	destination = packet->tuple.destination;
	address = bpf_map_lookup_elem(&address_table, &destination);
	flow->flags = address ? SESSION_HAIRPIN : 0;
	flow->external_address = own_outside(&packet->tuple, address != 0, packet->generation);
	flow->origin = flow->external_address		  ? ORIGIN_OWN
		       : is_basic(packet->tuple.protocol) ? ORIGIN_BASIC
							  : ORIGIN_INSIDE;
	if (address && address->kind == ADDRESS_OUTBOUND && is_local(ctx, packet, address)) {
		struct endpoint endpoint = mapping_at(
			mapping_slot(address->number, packet->tuple.protocol, packet->tuple.destination_port));

		if (address->lends && bound_find(&packet->tuple))
			return port_is_ours(ctx, &packet->tuple) ? REASON_TO_GATEWAY : REASON_NONE;
		if (port_is_excluded(destination, packet->tuple.destination_port, packet->tuple.protocol))
			return REASON_NONE;
		return endpoint.phase == PHASE_LIVE && !is_basic(packet->tuple.protocol) &&
				       !port_is_ours(ctx, &packet->tuple)
			       ? REASON_NONE
			       : REASON_TO_GATEWAY;
	}
	if (address || private_leaves(ctx, packet, flow))
		return REASON_NONE;
	return untranslated(ctx, packet->tuple.source, destination);
}

/* All of memory that opening the session will read, in one wait. */
__noinline int private_touch(const struct packet *packet)
{
	struct settings *settings;
	struct mapping_key endpoint = {};
	struct session_key filter = {};

	if (!packet)
		return 0;
	endpoint.address = packet->tuple.source;
	endpoint.port = packet->tuple.source_port;
	endpoint.protocol = packet->tuple.protocol;
	endpoint.outbound = slot_of(endpoint.address);
	record_touch(packet->buckets.first);
	subscriber_touch(endpoint.address);
	mapping_touch(&endpoint);
	seen_touch(packet->tuple.destination);
	settings = settings_get(packet->generation);
	if (!settings || settings->filtering != FILTER_ADDRESS_DEPENDENT)
		return 0;
	filter.local = packet->tuple.source;
	filter.remote = packet->tuple.destination;
	filter.local_port = packet->tuple.source_port;
	filter.protocol = packet->tuple.protocol;
	filter.side = KEY_FILTER;
	index_touch(&session_index, session_place(&filter));
	return 0;
}

/* REASON_NONE, or why it opens nothing. */
__noinline enum reason private_admit(ctx_t *ctx, const struct packet *packet, struct flow *flow)
{
	enum reason reason;

	if (!packet || !flow)
		return REASON_DROP_INTERNAL;
	private_touch(packet);
	reason = private_destination(ctx, packet, flow);
	if (reason == REASON_NONE)
		reason = may_open(packet);
	if (reason != REASON_NONE && reason != REASON_TO_GATEWAY && reason != REASON_INSIDE_TO_INSIDE)
		return reason;
	if (source_is_spoofed(ctx, packet, SIDE_PRIVATE))
		return REASON_DROP_SPOOFED_SOURCE;
	if (reason != REASON_NONE)
		return reason;
	if (packet->ttl <= 1)
		return REASON_DROP_TTL_EXPIRED;
	flow->private_address = packet->tuple.source;
	flow->private_port = packet->tuple.source_port;
	flow->remote_address = packet->tuple.destination;
	flow->remote_port = packet->tuple.destination_port;
	flow->protocol = packet->tuple.protocol;
	flow->buckets = packet->buckets;
	return is_banned(flow->remote_address) ? REASON_DROP_BANNED : REASON_NONE;
}
