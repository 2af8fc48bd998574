/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a packet from outside meets before chains are asked whether it may open a session: to a service of the pool, through
 * a mapping that lets it in, or to a host that has the address alone. What it is about to open is told by a struct flow.
 */
#pragma once

#include "public_find.h"
#include "../guard/gateway_traffic.h"
#include "../pool/find.h"

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

/* What its first packet says of a flow. */
static __always_inline void flow_comes_in(struct flow *flow, const struct packet *packet)
{
	flow->remote_address = packet->tuple.source;
	flow->remote_port = packet->tuple.source_port;
	flow->external_address = packet->tuple.destination;
	flow->external_port = packet->tuple.destination_port;
	flow->protocol = packet->tuple.protocol;
	if (packet->hairpin)
		flow->flags |= SESSION_HAIRPIN;
}

/*
 * Asks the chains that say where flows go, whatever names and NAT would say. Of ORIGIN_DNAT is a flow that one sends
 * somewhere.
 */
__noinline enum reason dnat_judge(ctx_t *ctx, struct packet *packet, struct flow *flow)
{
	struct nf_packet *nf = nf_packet();
	enum reason reason;

	if (!packet || !flow || !nf)
		return REASON_DROP_INTERNAL;
	if (may_open(packet) != REASON_NONE || source_is_banned(packet))
		return REASON_NONE;
	flow->unbanned = true;
	chain_describe(nf, packet, &packet->tuple, false, NF_HOOK_DNAT, 0);
	reason = chain_ask(ctx, packet, nf);
	if (reason != REASON_NONE)
		return chain_honeypot(nf, packet, reason);
	if (DRY)
		trace_step(TRACE_DNAT, 0, nf->to_address, nf->to_address ? chain_port(nf) : 0, 0);
	if (!nf->to_address)
		return REASON_NONE;
	flow->origin = ORIGIN_DNAT;
	flow->private_address = nf->to_address;
	flow->private_port = chain_port(nf);
	flow->policy = chain_policy(packet, nf);
	flow_comes_in(flow, packet);
	if (source_is_spoofed(ctx, packet, SIDE_PUBLIC))
		return REASON_DROP_SPOOFED_SOURCE;
	return packet->ttl <= 1 ? REASON_DROP_TTL_EXPIRED : REASON_NONE;
}

/* On an address that the gateway shares, its own sockets come first. */
static __always_inline bool socket_waits(ctx_t *ctx, const struct packet *packet)
{
	__u32 destination = packet->tuple.destination;
	struct address *address = bpf_map_lookup_elem(&address_table, &destination);

	return address && address->local && port_is_ours(ctx, &packet->tuple);
}

/* Through a mapping. What filtering refuses is not shown to functions, which would count it. */
static __always_inline enum reason mapping_admit(ctx_t *ctx, const struct packet *packet, const struct session_key *key,
						 __u32 slot, struct flow *flow)
{
	enum reason reason;

	if (!packet->hairpin && socket_waits(ctx, packet))
		return REASON_TO_GATEWAY;
	reason = may_open(packet);
	flow->origin = ORIGIN_MAPPING;
	flow->private_address = key->local;
	flow->private_port = key->local_port;
	flow->mapping = slot;
	if (reason != REASON_NONE || !chain_entry(packet, false) || session_find(key))
		return reason;
	return mapping_admits(key, settings_get(packet->generation));
}

/* To a host that has the address alone: every port of it is the host's. */
static __always_inline enum reason own_admit(const struct packet *packet, const struct session_key *key,
					     struct flow *flow)
{
	flow->origin = ORIGIN_OWN_IN;
	flow->private_address = key->local;
	flow->private_port = key->local_port;
	return may_open(packet);
}

/* What comes before the chains, where its address and port are somebody's: REASON_NONE, or why it opens nothing. */
__noinline enum reason public_admit(ctx_t *ctx, struct packet *packet, const struct session_key *key, __u32 slot,
				    struct flow *flow)
{
	enum reason reason;

	if (!packet || !key || !flow)
		return REASON_DROP_INTERNAL;
	if (!flow->unbanned && is_banned(packet->tuple.source))
		return REASON_DROP_BANNED;
	remote_touch(packet->tuple.source);
	if (source_is_spoofed(ctx, packet, SIDE_PUBLIC))
		return REASON_DROP_SPOOFED_SOURCE;
	if (packet->ttl <= 1)
		return REASON_DROP_TTL_EXPIRED;
	if (key->side == KEY_OUTSIDE)
		reason = pool_find(packet, flow);
	else
		reason = slot ? mapping_admit(ctx, packet, key, slot, flow) : own_admit(packet, key, flow);
	flow_comes_in(flow, packet);
	return reason;
}

/* There a service's port is its binding's, unless a socket of the gateway has it; every other is NAT's. */
__noinline enum reason lent_admit(ctx_t *ctx, const struct packet *packet, struct session_key *key, enum reason reason)
{
	if (!packet || !key || !bound_find(&packet->tuple))
		return reason;
	if (!packet->hairpin && socket_waits(ctx, packet))
		return REASON_TO_GATEWAY;
	key->side = KEY_OUTSIDE;
	return REASON_NONE;
}

/*
 * Whether a packet without a session may open one, and which: flow. Chains that say where flows go are asked first, whatever
 * else there is for it.
 */
static __always_inline enum reason public_judge(ctx_t *ctx, struct packet *packet, struct target *target,
						struct flow *flow)
{
	struct address *address = target->address;
	enum reason reason = target->reason, sent = REASON_NONE;

	if (!target->key.side)
		reason = public_key(&packet->tuple, address, packet->generation, &target->key, &target->slot);
	if (address->lends)
		reason = lent_admit(ctx, packet, &target->key, reason);
	if (address->kind != ADDRESS_POOL && address->kind != ADDRESS_OWN && chain_has_dnat(packet))
		sent = dnat_judge(ctx, packet, flow);
	if (sent != REASON_NONE || flow->origin == ORIGIN_DNAT)
		return sent;
	if (reason == REASON_NONE)
		reason = public_admit(ctx, packet, &target->key, target->slot, flow);
	if (reason == REASON_NONE)
		reason = chain_judge(ctx, packet, flow);
	return reason;
}
