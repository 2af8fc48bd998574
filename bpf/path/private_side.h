/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packets from inside: an open session's, or the first of one that goes out through a mapping.
 */
#pragma once

#include "../pool/binding.h"
#include "../conntrack/flow.h"
#include "forward.h"
#include "../fragment/enter.h"
#include "../guard/gateway_traffic.h"
#include "../nat/icmp.h"
#include "../nat/own.h"
#include "../answer/private_refuse.h"

/* Where a first packet goes. */
struct way {
	bool hairpin;	/* to one of our own addresses */
	__u32 own;	/* the address that it leaves by with its port, 0: by a mapping */
	__u16 epoch;	/* of next_hop */
	__u16 next_hop; /* 0: to be asked for */
};

/*
 * Whether the destination is outside. Where no rule looks at sources, or the packet keeps its own, the kernel is asked
 * once for a new flow, as for a packet that is translated already; any other answer is asked for again with the packet's
 * own source.
 */
static __always_inline bool private_leaves(ctx_t *ctx, const struct packet *packet, struct way *way)
{
	struct route_query query = {.destination = packet->tuple.destination, .ingress = ctx_ifindex(ctx)};
	struct control *control = control_get();

	if (!control || (!control->source_blind && way->own != packet->tuple.source))
		return false;
	way->epoch = *(volatile __u32 *)&control->route_epoch;
	query.source = way->own ? way->own : slot_address(slot_of(packet->tuple.source));
	if (!query.source || route_recall(ctx, &query, way->epoch) != ROUTE_FOUND || query.side != SIDE_PUBLIC)
		return false;
	way->next_hop = query.number;
	return true;
}

/* REASON_NONE when the destination is outside. */
__noinline enum reason private_destination(ctx_t *ctx, const struct packet *packet, struct way *way)
{
	__u32 destination;
	struct address *address;

	if (!packet || !way)
		return REASON_DROP_INTERNAL;
	destination = packet->tuple.destination;
	address = bpf_map_lookup_elem(&address_table, &destination);
	way->hairpin = address != 0;
	way->own = own_outside(&packet->tuple, way->hairpin, packet->generation);
	if (address && address->kind == ADDRESS_OUTBOUND && is_local(ctx, packet, address)) {
		struct endpoint endpoint = mapping_at(
			mapping_slot(address->number, packet->tuple.protocol, packet->tuple.destination_port));

		if (address->lends && bound_find(&packet->tuple))
			return port_is_ours(ctx, &packet->tuple) ? REASON_TO_GATEWAY : REASON_NONE;
		if (port_is_static(destination, packet->tuple.destination_port, packet->tuple.protocol))
			return REASON_NONE;
		return endpoint.phase == PHASE_LIVE && !is_basic(packet->tuple.protocol) &&
				       !port_is_ours(ctx, &packet->tuple)
			       ? REASON_NONE
			       : REASON_TO_GATEWAY;
	}
	if (address || private_leaves(ctx, packet, way))
		return REASON_NONE;
	return untranslated(ctx, packet->tuple.source, destination);
}

/* Under the stripe: ends a session that is as good as none; false where it is one. */
__noinline bool private_clear(__u32 number, const struct settings *settings)
{
	struct session *session = session_at(number);

	if (!session || !settings || !session_is_over(session))
		return false;
	if (DRY)
		return true;
	session_end(number, session, settings, clock_tick());
	return true;
}

/*
 * Under the stripe: the mapping of the packet's source, if it has one and needs it, and the count of what it is about to
 * open.
 */
__noinline int private_enter(const struct packet *packet, struct flow *flow, const struct settings *settings)
{
	struct mapping_key host = {};
	bool maps = false;

	if (!packet || !flow || !settings)
		return REASON_DROP_INTERNAL;
	host.address = packet->tuple.source;
	host.port = packet->tuple.source_port;
	host.protocol = packet->tuple.protocol;
	if (flow->origin != ORIGIN_OWN) {
		flow->outbound = slot_of(host.address);
		host.outbound = flow->outbound;
		if (host.outbound == NO_SLOT)
			return REASON_DROP_NO_ADDRESS;
	}
	if (session_has_mapping(flow->origin)) {
		flow->mapping = mapping_find(&host);
		maps = !flow->mapping;
	}
	return subscriber_enter(&host, maps, settings, flow->tick);
}

/* The same: what it is outside, by a mapping or as it is. counted: a new mapping counts with its subscriber already. */
static __always_inline enum reason private_translate(ctx_t *ctx, const struct packet *packet, struct flow *flow,
						     __u32 own, bool counted)
{
	enum reason reason;

	if (!session_has_mapping(flow->origin)) {
		flow->external_address = flow->origin == ORIGIN_OWN ? own : slot_address(flow->outbound);
		flow->external_port = packet->tuple.source_port;
		return REASON_NONE;
	}
	reason = mapping_acquire(ctx, &packet->tuple, &flow->mapping, flow->outbound, counted);
	if (reason != REASON_NONE)
		return reason;
	flow->external_address = slot_address(flow->mapping / (PROTOCOLS * PORTS));
	flow->external_port = bpf_htons(flow->mapping & (PORTS - 1));
	return REASON_NONE;
}

/* Under the stripe: opens the session unless another CPU did meanwhile. */
__noinline enum reason private_open_locked(ctx_t *ctx, const struct packet *packet, const struct way *way,
					   __u32 *number)
{
	struct settings *settings;
	struct flow *flow = flow_new();
	enum reason reason;
	__u32 record;
	int entered;

	if (!packet || !way || !number || !flow)
		return REASON_DROP_INTERNAL;
	settings = settings_get(packet->generation);
	if (!settings)
		return REASON_DROP_INTERNAL;
	*number = session_find_home(packet);
	if (*number && !private_clear(*number, settings))
		return REASON_NONE;
	flow->origin = way->own ? ORIGIN_OWN : is_basic(packet->tuple.protocol) ? ORIGIN_BASIC : ORIGIN_INSIDE;
	entered = private_enter(packet, flow, settings);
	if (entered > REASON_NONE)
		return entered;
	/* The record first: a packet that finds none takes no port. */
	record = record_allocate(packet->homes.first, packet->homes.second, true);
	if (!record) {
		if (session_has_mapping(flow->origin) && !flow->mapping && entered == REASON_NONE)
			subscriber_leave(packet->tuple.source, packet->tuple.protocol, true);
		reason = REASON_DROP_SESSION_TABLE_FULL;
		goto leave;
	}
	reason = private_translate(ctx, packet, flow, way->own, entered == REASON_NONE);
	if (reason != REASON_NONE) {
		record_release(record, true);
		goto leave;
	}
	flow->private_address = packet->tuple.source;
	flow->private_port = packet->tuple.source_port;
	flow->remote_address = packet->tuple.destination;
	flow->remote_port = packet->tuple.destination_port;
	flow->protocol = packet->tuple.protocol;
	flow->flags = (way->hairpin ? SESSION_HAIRPIN : 0) | (entered == REASON_NONE ? SESSION_COUNTED : 0);
	flow->homes = packet->homes;
	flow->next_hop = way->next_hop;
	flow->route_epoch = way->epoch;
	flow->judged = chain_judged(packet);
	*number = record;
	if (flow->origin == ORIGIN_OWN) {
		reason = session_open(flow, settings, number);
	} else {
		reason = shared_session_open(flow, settings, number);
		if (!DRY && reason != REASON_NONE && session_has_mapping(flow->origin))
			mapping_release(flow->mapping, false, 0, flow->tick);
	}
	if (reason == REASON_NONE) {
		trace_step(TRACE_NAT, 0, flow->external_address, flow->external_port, 0);
		return REASON_NONE;
	}
leave:
	if (entered == REASON_NONE)
		subscriber_leave(packet->tuple.source, packet->tuple.protocol, false);
	return reason;
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
	record_touch(packet->homes.first);
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

/* What a packet without a session meets before it may open one: REASON_NONE, ASK_CHAIN, or why it does not. */
__noinline enum reason private_first(ctx_t *ctx, const struct packet *packet, struct way *way)
{
	enum reason reason;

	if (!packet || !way)
		return REASON_DROP_INTERNAL;
	private_touch(packet);
	reason = private_destination(ctx, packet, way);
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
	if (is_banned(packet->tuple.destination))
		return REASON_DROP_BANNED;
	return chain_judge(packet, &packet->tuple, true);
}

__noinline enum reason private_open(ctx_t *ctx, const struct packet *packet, const struct way *way, __u32 *number)
{
	struct stripe *stripe;
	enum reason reason;

	if (!packet || !way || !number)
		return REASON_DROP_INTERNAL;
	stripe = lock_stripe(endpoint_hash(packet->tuple.source, packet->tuple.source_port, packet->tuple.protocol));
	if (!stripe || !lock_take(stripe))
		return REASON_DROP_BUSY;
	reason = private_open_locked(ctx, packet, way, number);
	lock_release(stripe);
	return reason;
}

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

#define TO_HAIRPIN -16 /* no action of any hook: the packet, translated, enters gateway_hairpin */

/* An ICMP error from inside about a packet that came in: its destination is the private endpoint. */
__noinline int private_icmp_error(ctx_t *ctx, const struct packet *packet)
{
	struct control *control = control_get();
	struct quoted quoted = {};
	struct session_key key = {};
	struct session *session;
	struct next_hop *hop = 0;
	enum reason reason;
	bool hairpin;

	if (!packet || !control)
		return CTX_DROP;
	if (!bpf_map_lookup_elem(&address_table, &packet->tuple.destination)) {
		reason = untranslated(ctx, packet->tuple.source, packet->tuple.destination);
		if ((reason == REASON_TO_GATEWAY || reason == REASON_INSIDE_TO_INSIDE) &&
		    source_is_spoofed(ctx, packet, SIDE_PRIVATE))
			reason = REASON_DROP_SPOOFED_SOURCE;
		if (reason != REASON_NONE)
			return verdict(ctx, packet, reason, SIDE_PRIVATE);
	}
	reason = quoted_parse(ctx, packet, &quoted);
	if (reason != REASON_NONE)
		return verdict(ctx, packet, reason, SIDE_PRIVATE);
	key.local = quoted.tuple.destination;
	key.local_port = quoted.tuple.destination_port;
	key.remote = quoted.tuple.source;
	key.remote_port = quoted.tuple.source_port;
	key.protocol = quoted.tuple.protocol;
	key.side = KEY_INSIDE;
	session = session_at(session_find(&key));
	/* Record 0 is never live. */
	if (!session || session->life.phase != PHASE_LIVE || quoted.tuple.source != packet->tuple.destination)
		return verdict(ctx, packet, REASON_DROP_NO_SESSION, SIDE_PRIVATE);
	if (icmp_checksum_is_wrong(ctx, packet, &quoted))
		return verdict(ctx, packet, REASON_DROP_BAD_CHECKSUM, SIDE_PRIVATE);
	reason = session_judge(session, packet, DIRECTION_OUT, false);
	if (reason == ASK_CHAIN)
		return TO_CHAIN;
	if (reason != REASON_NONE)
		return verdict(ctx, packet, reason, SIDE_PRIVATE);
	if (packet->ttl <= 1)
		return verdict(ctx, packet, REASON_DROP_TTL_EXPIRED, SIDE_PRIVATE);
	hairpin = session->flags & SESSION_HAIRPIN;
	if (!hairpin &&
	    forward_hop(ctx, session, DIRECTION_OUT, clock_tick(), control->route_epoch, &hop) != ROUTE_FOUND)
		return verdict(ctx, packet, REASON_DROP_NO_ROUTE, SIDE_PRIVATE);
	if (!icmp_error_rewrite(ctx, packet, &quoted, session, DIRECTION_OUT))
		return verdict(ctx, packet, REASON_DROP_MALFORMED, SIDE_PRIVATE);
	if (hairpin)
		return TO_HAIRPIN;
	return forward_send(ctx, packet, hop, SIDE_PRIVATE);
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
	if (packet.kind == PACKET_ICMP_ERROR) {
		int action = private_icmp_error(ctx, &packet);

		if (action == TO_CHAIN) {
			reason = chain_ask(ctx, &packet);
			if (reason != REASON_NONE)
				return chain_refuse(ctx, &packet, reason, SIDE_PRIVATE);
			action = private_icmp_error(ctx, &packet);
		}
		if (action == TO_CHAIN)
			return verdict(ctx, &packet, REASON_DROP_INTERNAL, SIDE_PRIVATE);
		if (action != TO_HAIRPIN)
			return action;
		hairpin_enter(ctx, &packet);
		return verdict(ctx, &packet, REASON_DROP_INTERNAL, SIDE_PRIVATE);
	}
	if (__builtin_expect(packet.kind != PACKET_FLOW, 0))
		return not_ipv4(ctx, &packet, SIDE_PRIVATE);
	number = private_find(&packet);
	session = session_at(number);
	if (!session)
		return verdict(ctx, &packet, REASON_DROP_INTERNAL, SIDE_PRIVATE);
	if (DRY)
		trace_step(TRACE_FIND, number && !session_is_over(session), 0, 0, number);
	if (__builtin_expect(!number || session_is_over(session), 0)) {
		struct way way = {};

		reason = private_first(ctx, &packet, &way);
		if (reason == ASK_CHAIN)
			reason = chain_ask(ctx, &packet);
		if (reason == REASON_NONE)
			reason = private_open(ctx, &packet, &way, &number);
		if (reason != REASON_NONE)
			return private_refuse(ctx, &packet, reason);
		session = session_entered(number);
		if (!session)
			return verdict(ctx, &packet, REASON_DROP_INTERNAL, SIDE_PRIVATE);
	}
	return forward(ctx, &packet, session, DIRECTION_OUT, control->route_epoch);
}
