/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a packet from outside may open: a session to where a chain sends it (dnat), through a mapping that lets it in,
 * or at an address of the circular pool.
 */
#pragma once

#include "forward.h"
#include "../guard/gateway_traffic.h"
#include "../pool/open.h"

/* Whether the mapping lets in what its host has not asked for (RFC 4787 §5). */
static __always_inline enum reason mapping_filter(const struct session_key *inside, const struct settings *settings)
{
	struct session_key key;

	if (settings->filtering == FILTER_ENDPOINT_INDEPENDENT)
		return REASON_NONE;
	if (settings->filtering == FILTER_ADDRESS_AND_PORT_DEPENDENT)
		return REASON_DROP_FILTERED;
	key = *inside;
	key.remote_port = 0;
	key.side = KEY_FILTER;
	return session_find_indexed(&key) ? REASON_NONE : REASON_DROP_FILTERED;
}

__noinline enum reason mapping_admits(const struct session_key *inside, const struct settings *settings)
{
	enum reason reason;

	if (!inside || !settings)
		return REASON_DROP_INTERNAL;
	reason = mapping_filter(inside, settings);
	trace_step(TRACE_FILTERING, reason, 0, 0, 0);
	return reason;
}

/* Under the stripe of the mapping's endpoint. */
__noinline enum reason mapping_open_locked(const struct packet *packet, struct session_key *key, __u32 slot,
					   __u32 *number)
{
	struct settings *settings;
	struct endpoint endpoint = mapping_at(slot);
	struct flow *flow = flow_new();
	enum reason reason;
	struct session *session;

	if (!packet || !key || !number || !flow)
		return REASON_DROP_INTERNAL;
	settings = settings_get(packet->generation);
	if (!settings)
		return REASON_DROP_INTERNAL;
	if (endpoint.phase != PHASE_LIVE || endpoint.address != key->local || endpoint.port != key->local_port)
		return REASON_DROP_NO_MAPPING;
	*number = session_find(key);
	if (*number) {
		session = session_at(*number);
		return session && session_is_of(session, &packet->tuple) ? REASON_NONE : REASON_DROP_SESSION_CONFLICT;
	}
	reason = mapping_admits(key, settings);
	if (reason == REASON_NONE && mapping_is_full(slot, &settings->limits))
		reason = REASON_DROP_MAPPING_SESSIONS;
	if (reason == REASON_NONE && !packet->hairpin)
		reason = remote_judge(packet->tuple.source, settings, flow->tick);
	if (reason != REASON_NONE)
		return reason;
	flow->private_address = key->local;
	flow->private_port = key->local_port;
	flow->remote_address = packet->tuple.source;
	flow->remote_port = packet->tuple.source_port;
	flow->external_address = packet->tuple.destination;
	flow->external_port = packet->tuple.destination_port;
	flow->protocol = packet->tuple.protocol;
	flow->origin = ORIGIN_MAPPING;
	flow->flags = packet->hairpin ? SESSION_HAIRPIN : 0;
	flow->mapping = slot;
	flow->judged = chain_judged(packet);
	flow->homes = homes_inside(key);
	*number = record_allocate(flow->homes.first, flow->homes.second, false);
	if (!*number)
		return REASON_DROP_SESSION_TABLE_FULL;
	flow_count(flow);
	reason = shared_session_open(flow, settings, number);
	if (reason == REASON_NONE)
		mapping_join(slot, true);
	else if (flow->flags & SESSION_COUNTED)
		remote_leave(flow->remote_address);
	return reason;
}

__noinline enum reason mapping_open(const struct packet *packet, struct session_key *key, __u32 slot, __u32 *number)
{
	struct stripe *stripe;
	enum reason reason;

	if (!packet || !key || !number)
		return REASON_DROP_INTERNAL;
	reason = may_open(packet);
	/* What filtering refuses is not shown to functions, which would count it. */
	if (reason == REASON_NONE && chain_entry(packet, false) && !session_find(key))
		reason = mapping_admits(key, settings_get(packet->generation));
	if (reason == REASON_NONE)
		reason = chain_judge_in(packet, key->local, key->local_port);
	if (reason == ASK_CHAIN)
		chain_is_mapped();
	if (reason != REASON_NONE)
		return reason;
	stripe = lock_stripe(endpoint_hash(key->local, key->local_port, key->protocol));
	if (!stripe || !lock_take(stripe))
		return REASON_DROP_BUSY;
	reason = mapping_open_locked(packet, key, slot, number);
	lock_release(stripe);
	return reason;
}

/*
 * The first packet of a flow that a chain sends to a private endpoint, whatever names and NAT would say: opens its
 * session. REASON_NONE and no number when no chain sends it anywhere.
 */
__noinline enum reason static_open(ctx_t *ctx, const struct packet *packet, __u32 *number)
{
	struct nf_packet *told = nf_packet();
	struct settings *settings;
	struct flow *flow;
	enum reason reason;

	if (!packet || !number || !told)
		return REASON_DROP_INTERNAL;
	settings = settings_get(packet->generation);
	if (!settings || packet->again == NF_FLOW || may_open(packet) != REASON_NONE ||
	    (packet->again != NF_STATIC && source_is_banned(packet)))
		return REASON_NONE;
	if (packet->again != NF_STATIC)
		return chain_describe(packet, &packet->tuple, false, NF_STATIC, 0);
	reason = chain_was_asked(&packet->tuple, false);
	if (DRY)
		trace_step(TRACE_DNAT, reason, told->to_address, told->to_address ? chain_port(told) : 0, 0);
	if (!told->to_address)
		told->packets = 0; /* nor are those functions asked about what it is else */
	if (reason != REASON_NONE || !told->to_address)
		return reason;
	if (source_is_spoofed(ctx, packet, SIDE_PUBLIC))
		return REASON_DROP_SPOOFED_SOURCE;
	if (packet->ttl <= 1)
		return REASON_DROP_TTL_EXPIRED;
	flow = flow_new();
	if (!flow)
		return REASON_DROP_INTERNAL;
	flow->private_address = told->to_address;
	flow->private_port = chain_port(told);
	flow->remote_address = packet->tuple.source;
	flow->remote_port = packet->tuple.source_port;
	flow->external_address = packet->tuple.destination;
	flow->external_port = packet->tuple.destination_port;
	flow->protocol = packet->tuple.protocol;
	flow->origin = ORIGIN_STATIC;
	flow->flags = packet->hairpin ? SESSION_HAIRPIN : 0;
	flow->judged = chain_judged(packet);
	return outside_open(packet, flow, number);
}

/* The same for a host that has the address alone: every port of it is the host's. */
__noinline enum reason own_open(const struct packet *packet, const struct session_key *key, __u32 *number)
{
	struct flow *flow;
	enum reason reason;

	if (!packet || !key || !number)
		return REASON_DROP_INTERNAL;
	reason = may_open(packet);
	if (reason == REASON_NONE)
		reason = chain_judge_in(packet, key->local, key->local_port);
	if (reason != REASON_NONE)
		return reason;
	flow = flow_new();
	if (!flow)
		return REASON_DROP_INTERNAL;
	flow->private_address = key->local;
	flow->private_port = key->local_port;
	flow->remote_address = packet->tuple.source;
	flow->remote_port = packet->tuple.source_port;
	flow->external_address = packet->tuple.destination;
	flow->external_port = packet->tuple.destination_port;
	flow->protocol = packet->tuple.protocol;
	flow->origin = ORIGIN_OWN_IN;
	flow->flags = packet->hairpin ? SESSION_HAIRPIN : 0;
	flow->judged = chain_judged(packet);
	return outside_open(packet, flow, number);
}

/* On an address that the gateway shares, its own sockets come first. */
static __always_inline bool socket_waits(ctx_t *ctx, const struct packet *packet)
{
	__u32 destination = packet->tuple.destination;
	struct address *address = bpf_map_lookup_elem(&address_table, &destination);

	return address && address->local && port_is_ours(ctx, &packet->tuple);
}

/* No session: whatever may open one. */
__noinline enum reason public_open(ctx_t *ctx, const struct packet *packet, struct session_key *key, __u32 slot,
				   __u32 *number)
{
	if (!packet || !key)
		return REASON_DROP_INTERNAL;
	if (!chain_has_judged(packet) && is_banned(packet->tuple.source))
		return REASON_DROP_BANNED;
	remote_touch(packet->tuple.source);
	if (packet->again != NF_FLOW && source_is_spoofed(ctx, packet, SIDE_PUBLIC))
		return REASON_DROP_SPOOFED_SOURCE;
	if (packet->ttl <= 1)
		return REASON_DROP_TTL_EXPIRED;
	if (key->side == KEY_OUTSIDE)
		return pool_open(packet, number);
	if (!slot)
		return own_open(packet, key, number);
	if (!packet->hairpin && socket_waits(ctx, packet))
		return REASON_TO_GATEWAY;
	return mapping_open(packet, key, slot, number);
}
