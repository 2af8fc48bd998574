/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packets from outside: an open session's, one that a mapping lets in, or the first packet that claims a
 * reservation. Packets of a hairpin come here too, already translated on their way out (RFC 4787 REQ-9).
 */
#pragma once

#include "flow.h"
#include "forward.h"
#include "gateway_traffic.h"
#include "icmp.h"
#include "private_side.h"
#include "reservation.h"

/*
 * The key under which the session of a packet to one of our addresses is indexed; REASON_NONE, or why there can
 * be none. *slot is the mapping, 0 for a pool address.
 */
static __always_inline enum reason public_key(const struct tuple *tuple, const struct address *address,
					      struct session_key *key, __u32 *slot)
{
	struct endpoint endpoint;

	key->remote = tuple->source;
	key->remote_port = tuple->source_port;
	key->protocol = tuple->protocol;
	*slot = 0;
	if (address->kind == ADDRESS_POOL) {
		key->local = tuple->destination;
		key->local_port = tuple->destination_port;
		key->side = KEY_OUTSIDE;
		return REASON_NONE;
	}
	*slot = mapping_slot(address->number, tuple->protocol, tuple->destination_port);
	key->side = KEY_INSIDE;
	endpoint = mapping_at(*slot);
	key->local = endpoint.address;
	key->local_port = endpoint.port;
	return endpoint.phase == PHASE_LIVE ? REASON_NONE : REASON_DROP_NO_MAPPING;
}

static __always_inline bool session_is_of(const struct session *session, const struct tuple *tuple)
{
	return session->external_address == tuple->destination && session->external_port == tuple->destination_port;
}

/* Whether the mapping lets in what its host has not asked for (RFC 4787 §5). */
__noinline enum reason mapping_admits(const struct session_key *inside, const struct settings *settings)
{
	struct session_key key;

	if (!inside || !settings)
		return REASON_DROP_INTERNAL;
	if (settings->filtering == FILTER_ENDPOINT_INDEPENDENT)
		return REASON_NONE;
	if (settings->filtering == FILTER_ADDRESS_AND_PORT_DEPENDENT)
		return REASON_DROP_FILTERED;
	key = *inside;
	key.remote_port = 0;
	key.side = KEY_FILTER;
	return session_find_slow(&key) ? REASON_NONE : REASON_DROP_FILTERED;
}

/* Under the stripe of the mapping's endpoint. */
__noinline enum reason mapping_open_locked(const struct packet *packet, struct session_key *key, __u32 slot,
						  const struct control *control, __u32 *number)
{
	struct settings *settings;
	struct endpoint endpoint = mapping_at(slot);
	struct flow flow = {};
	enum reason reason;
	struct session *session;

	if (!packet || !key || !control || !number)
		return REASON_DROP_INTERNAL;
	settings = settings_get(control->generation);
	if (!settings)
		return REASON_DROP_INTERNAL;
	if (endpoint.phase != PHASE_LIVE || endpoint.address != key->local || endpoint.port != key->local_port)
		return REASON_DROP_NO_MAPPING;
	*number = session_find_slow(key);
	if (*number) {
		session = session_at(*number);
		return session && session_is_of(session, &packet->tuple) ? REASON_NONE : REASON_DROP_SESSION_CONFLICT;
	}
	reason = mapping_admits(key, settings);
	if (reason != REASON_NONE)
		return reason;
	flow.private_address = key->local;
	flow.private_port = key->local_port;
	flow.remote_address = packet->tuple.source;
	flow.remote_port = packet->tuple.source_port;
	flow.external_address = packet->tuple.destination;
	flow.external_port = packet->tuple.destination_port;
	flow.protocol = packet->tuple.protocol;
	flow.origin = ORIGIN_MAPPING;
	flow.flags = packet->hairpin ? SESSION_HAIRPIN : 0;
	flow.mapping = slot;
	flow.generation = control->generation;
	reason = session_open(&flow, settings, number);
	if (reason == REASON_NONE)
		mapping_join(slot);
	return reason;
}

__noinline enum reason mapping_open(const struct packet *packet, struct session_key *key, __u32 slot,
					   const struct control *control, __u32 *number)
{
	struct stripe *stripe;
	enum reason reason;

	if (!packet || !key || !control || !number)
		return REASON_DROP_INTERNAL;
	if (packet->tuple.protocol == IPPROTO_TCP && !tcp_is_pure_syn(packet->tcp_flags))
		return REASON_DROP_NOT_SYN;
	stripe = lock_stripe(endpoint_hash(key->local, key->local_port, key->protocol));
	if (!stripe || !lock_take(stripe))
		return REASON_DROP_BUSY;
	reason = mapping_open_locked(packet, key, slot, control, number);
	lock_release(stripe);
	return reason;
}

/* A session stands where the new one would: is it ending, so that a pure SYN may take its place (I8)? */
static __always_inline bool session_gives_way(const struct session *session, const struct packet *packet)
{
	return packet->tuple.protocol == IPPROTO_TCP && tcp_is_closing(session->life.tcp);
}

/* Under the stripe of the host's endpoint. */
__noinline enum reason claim_open_locked(const struct packet *packet, struct flow *flow,
						struct reservation *reservation, const struct settings *settings,
						__u32 *number)
{
	struct session_key outside = {}, inside = {};
	struct session *session;
	enum reason reason;
	__u32 found;

	if (!packet || !flow || !reservation || !settings || !number)
		return REASON_DROP_INTERNAL;
	outside.local = flow->external_address;
	outside.local_port = flow->external_port;
	outside.remote = inside.remote = flow->remote_address;
	outside.remote_port = inside.remote_port = flow->remote_port;
	outside.protocol = inside.protocol = flow->protocol;
	outside.side = KEY_OUTSIDE;
	inside.local = flow->private_address;
	inside.local_port = flow->private_port;
	inside.side = KEY_INSIDE;
	found = session_find_slow(&outside);
	if (found) {
		session = session_at(found);
		if (!session || session->private_address != flow->private_address)
			return REASON_DROP_SESSION_CONFLICT; /* I4: never retarget */
		if (!session_gives_way(session, packet)) {
			*number = found; /* a duplicate of the first packet: it follows the flow */
			return REASON_NONE;
		}
	}
	found = session_find_slow(&inside);
	session = session_at(found);
	if (found && (!session || !session_gives_way(session, packet)))
		return REASON_DROP_SESSION_CONFLICT; /* I8 */
	reason = reservation_claim(reservation, packet);
	if (reason != REASON_NONE)
		return reason;
	/* The slot may have been given to another reservation since flow was filled. */
	if (*(volatile __u32 *)&reservation->id != flow->reservation)
		return REASON_DROP_NO_RESERVATION;
	if (found && session)
		session_end(found, session, settings, clock_tick());
	return session_open(flow, settings, number);
}

/* The first packet to a pool address: finds its reservation and opens the session that it stands for. */
__noinline enum reason claim_open(const struct packet *packet, const struct control *control, __u32 *number)
{
	struct reservation *reservation;
	struct settings *settings;
	struct stripe *stripe;
	struct flow flow = {};
	enum reason reason;
	__u32 slot;
	__u64 id;

	if (!packet || !control || !number)
		return REASON_DROP_INTERNAL;
	settings = settings_get(control->generation);
	slot = reservation_find(&packet->tuple);
	reservation = reservation_at(slot);
	if (!slot || !reservation || !settings)
		return REASON_DROP_NO_RESERVATION;
	id = *(volatile __u64 *)&reservation->id;
	reason = may_open(packet);
	if (reason != REASON_NONE)
		return reason;
	flow.private_address = reservation->host;
	flow.private_port = reservation->host_port ? reservation->host_port : packet->tuple.destination_port;
	flow.remote_address = packet->tuple.source;
	flow.remote_port = packet->tuple.source_port;
	flow.external_address = packet->tuple.destination;
	flow.external_port = packet->tuple.destination_port;
	flow.protocol = packet->tuple.protocol;
	flow.origin = ORIGIN_POOL;
	flow.flags = packet->hairpin ? SESSION_HAIRPIN : 0;
	flow.generation = control->generation;
	flow.name = reservation->name;
	flow.mapping = slot;
	flow.reservation = id;
	reason = chain_judge(flow.private_address, flow.private_port, flow.protocol, ORIGIN_POOL);
	if (reason != REASON_NONE)
		return reason;
	stripe = lock_stripe(endpoint_hash(flow.private_address, flow.private_port, flow.protocol));
	if (!stripe || !lock_take(stripe))
		return REASON_DROP_BUSY;
	reason = claim_open_locked(packet, &flow, reservation, settings, number);
	lock_release(stripe);
	return reason;
}

/* The session that an ICMP error from outside is about: the quoted packet is one that we sent. */
static __noinline struct session *quoted_session(const struct quoted *quoted)
{
	struct tuple tuple = {};
	struct session_key key = {};
	struct session *session;
	struct address *address;
	__u32 slot;

	if (!quoted)
		return 0;
	tuple.source = quoted->tuple.destination;
	tuple.source_port = quoted->tuple.destination_port;
	tuple.destination = quoted->tuple.source;
	tuple.destination_port = quoted->tuple.source_port;
	tuple.protocol = quoted->tuple.protocol;
	address = bpf_map_lookup_elem(&address_table, &tuple.destination);
	if (!address || public_key(&tuple, address, &key, &slot) != REASON_NONE)
		return 0;
	session = session_at(session_find_slow(&key));
	return session && session->life.phase == PHASE_LIVE && session_is_of(session, &tuple) ? session : 0;
}

__noinline int public_icmp_error(struct xdp_md *ctx, const struct packet *packet)
{
	struct control *control = control_get();
	struct address *address;
	struct quoted quoted = {};
	struct session *session;
	struct next_hop *hop;
	enum reason reason;

	if (!packet || !control)
		return XDP_DROP;
	address = bpf_map_lookup_elem(&address_table, &packet->tuple.destination);
	if (!address)
		return verdict(ctx, packet,
			       destination_is_local(ctx, packet->tuple.source, packet->tuple.destination)
				       ? REASON_TO_GATEWAY
				       : REASON_DROP_NOT_FOR_US,
			       SIDE_PUBLIC);
	reason = quoted_parse(ctx, packet, &quoted);
	session = reason == REASON_NONE && quoted.tuple.source == packet->tuple.destination ? quoted_session(&quoted) : 0;
	if (!session)
		return verdict(ctx, packet,
			       address->local		  ? REASON_TO_GATEWAY
			       : reason != REASON_NONE ? reason
						  : REASON_DROP_NO_SESSION,
			       SIDE_PUBLIC);
	if (icmp_checksum_is_wrong(ctx, packet))
		return verdict(ctx, packet, REASON_DROP_BAD_CHECKSUM, SIDE_PUBLIC);
	if (packet->ttl <= 1)
		return verdict(ctx, packet, REASON_DROP_TTL_EXPIRED, SIDE_PUBLIC);
	if (forward_hop(ctx, session, DIRECTION_IN, clock_tick(), control->route_epoch, &hop) != ROUTE_FOUND)
		return verdict(ctx, packet, REASON_DROP_NO_ROUTE, SIDE_PUBLIC);
	if (!icmp_error_rewrite(ctx, packet, &quoted, session, DIRECTION_IN))
		return verdict(ctx, packet, REASON_DROP_MALFORMED, SIDE_PUBLIC);
	return forward_send(ctx, packet, hop, SIDE_PUBLIC);
}

/* No session: whatever may open one. */
__noinline enum reason public_open(const struct packet *packet, struct session_key *key, __u32 slot,
					  __u32 *number)
{
	struct control *control = control_get();

	if (!packet || !key || !control)
		return REASON_DROP_INTERNAL;
	if (!packet->hairpin && bpf_map_lookup_elem(&address_table, &packet->tuple.source))
		return REASON_DROP_SPOOFED_SOURCE;
	if (key->side == KEY_OUTSIDE)
		return claim_open(packet, control, number);
	return mapping_open(packet, key, slot, control, number);
}

static __always_inline int public_side(struct xdp_md *ctx, bool hairpin)
{
	struct packet packet = {.hairpin = hairpin};
	enum reason reason = packet_parse(ctx, &packet);
	struct control *control = control_get();
	struct session_key key = {};
	struct session *session;
	struct address *address;
	__u32 number, slot;

	if (reason != REASON_NONE || !control)
		return unparsed(ctx, &packet, reason, SIDE_PUBLIC);
	if (packet.kind == PACKET_ICMP_ERROR)
		return public_icmp_error(ctx, &packet);
	if (packet.kind != PACKET_FLOW)
		return not_ipv4(ctx, &packet, SIDE_PUBLIC);
	address = bpf_map_lookup_elem(&address_table, &packet.tuple.destination);
	if (!address)
		return verdict(ctx, &packet,
			       destination_is_local(ctx, packet.tuple.source, packet.tuple.destination)
				       ? REASON_TO_GATEWAY
				       : REASON_DROP_NOT_FOR_US,
			       SIDE_PUBLIC);
	reason = public_key(&packet.tuple, address, &key, &slot);
	number = reason == REASON_NONE ? session_find(&key) : 0;
	session = session_at(number);
	if (!session)
		return verdict(ctx, &packet, REASON_DROP_INTERNAL, SIDE_PUBLIC);
	/* A closing session from the pool is over for who would open it again: only a reservation opens. */
	if (number && (!session_is_of(session, &packet.tuple) ||
		       (key.side == KEY_OUTSIDE && session_gives_way(session, &packet) &&
			tcp_is_pure_syn(packet.tcp_flags))))
		number = 0;
	if (!number) {
		if (reason == REASON_NONE)
			reason = public_open(&packet, &key, slot, &number);
		if (reason != REASON_NONE)
			return verdict(ctx, &packet, address->local ? REASON_TO_GATEWAY : reason, SIDE_PUBLIC);
		session = session_at(number);
		if (!session)
			return verdict(ctx, &packet, REASON_DROP_INTERNAL, SIDE_PUBLIC);
	}
	if ((session->flags & SESSION_HAIRPIN) && !hairpin)
		return verdict(ctx, &packet, REASON_DROP_SPOOFED_SOURCE, SIDE_PUBLIC);
	return forward(ctx, &packet, session, DIRECTION_IN, control);
}
