/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packets from outside: an open session's, or the first of one (public_open.h). Packets of a hairpin come here too,
 * already translated on their way out (RFC 4787 REQ-9).
 */
#pragma once

#include "../conntrack/flow.h"
#include "forward.h"
#include "../fragment/enter.h"
#include "../fragment/stray.h"
#include "../guard/gateway_traffic.h"
#include "../nat/icmp.h"
#include "public_open.h"
#include "../question/side.h"
#include "../guard/stray.h"

/*
 * The key by which the session of a packet to one of our addresses is sought; REASON_NONE, or why there can
 * be none. *slot is the mapping, 0 for other addresses.
 */
static __always_inline enum reason public_key(const struct tuple *tuple, const struct address *address,
					      __u32 generation, struct session_key *key, __u32 *slot)
{
	struct endpoint endpoint;

	key->remote = tuple->source;
	key->remote_port = tuple->source_port;
	key->protocol = tuple->protocol;
	*slot = 0;
	if (address->kind == ADDRESS_OWN) {
		key->local = own_address_of(tuple->destination, generation);
		key->local_port = tuple->destination_port;
		key->side = KEY_INSIDE;
		trace_step(TRACE_HOST, 0, key->local, key->local_port, 0);
		return key->local ? REASON_NONE : REASON_DROP_NO_MAPPING;
	}
	if (address->kind != ADDRESS_OUTBOUND) {
		key->local = tuple->destination;
		key->local_port = tuple->destination_port;
		key->side = KEY_OUTSIDE;
		return REASON_NONE;
	}
	if (is_basic(tuple->protocol)) /* by its outside tuple alone: static_find */
		return REASON_DROP_NO_SESSION;
	*slot = mapping_slot(address->number, tuple->protocol, tuple->destination_port);
	key->side = KEY_INSIDE;
	endpoint = mapping_at(*slot);
	key->local = endpoint.address;
	key->local_port = endpoint.port;
	trace_step(TRACE_MAPPING, endpoint.phase == PHASE_LIVE, endpoint.address, endpoint.port, 0);
	return endpoint.phase == PHASE_LIVE ? REASON_NONE : REASON_DROP_NO_MAPPING;
}

/*
 * The session of a packet to an outbound address: number is its mapping's, but a chain or a binding may have opened it, or a
 * host without a mapping.
 */
__noinline __u32 static_find(const struct tuple *tuple, __u32 number)
{
	struct session *session = session_at(number);
	struct session_key key = {};

	if (!tuple)
		return 0;
	if (number && session && session_is_of(session, tuple))
		return number;
	key.local = tuple->destination;
	key.local_port = tuple->destination_port;
	key.remote = tuple->source;
	key.remote_port = tuple->source_port;
	key.protocol = tuple->protocol;
	key.side = KEY_OUTSIDE;
	return session_find_indexed(&key);
}

/* The session of a packet to one of our addresses, or 0; *reason: why it can open none by a name or a mapping. */
static __always_inline __u32 public_find(const struct tuple *tuple, const struct address *address,
					 const struct control *control, __u32 generation, struct session_key *key,
					 __u32 *slot, enum reason *reason)
{
	__u32 number = 0;

	*reason = public_key(tuple, address, generation, key, slot);
	if (*reason == REASON_NONE)
		number = session_find(key);
	return (control->statics || address->lends || is_basic(tuple->protocol)) && address->kind == ADDRESS_OUTBOUND
		       ? static_find(tuple, number)
		       : number;
}

/* The session that an ICMP error from outside is about: the quoted packet is one that we sent. */
static __noinline struct session *quoted_session(const struct quoted *quoted, __u32 generation)
{
	struct tuple tuple = {};
	struct session_key key = {};
	struct control *control = control_get();
	struct session *session;
	struct address *address;
	enum reason reason;
	__u32 slot;

	if (!quoted || !control)
		return 0;
	tuple.source = quoted->tuple.destination;
	tuple.source_port = quoted->tuple.destination_port;
	tuple.destination = quoted->tuple.source;
	tuple.destination_port = quoted->tuple.source_port;
	tuple.protocol = quoted->tuple.protocol;
	address = bpf_map_lookup_elem(&address_table, &tuple.destination);
	session = session_at(address ? public_find(&tuple, address, control, generation, &key, &slot, &reason)
				     : own_find(&tuple, generation));
	return session && session->life.phase == PHASE_LIVE && session_is_of(session, &tuple) &&
			       !session_is_over(session)
		       ? session
		       : 0;
}

/*
 * A packet without a session: what it opens, as chains say. sent: chains may send it somewhere, whatever else there
 * is for it. reason: why there is nothing else.
 */
static __always_inline enum reason public_first(ctx_t *ctx, struct packet *packet, struct session_key *key, __u32 slot,
						bool sent, enum reason reason, __u32 *number)
{
	enum reason first;

	/* The chains that send are asked, then those of where the packet goes. */
	for (int asked = 0; asked < 3; asked++) {
		first = sent ? static_open(ctx, packet, number) : REASON_NONE;
		if (first == REASON_NONE && !*number)
			first = reason == REASON_NONE ? public_open(ctx, packet, key, slot, number) : reason;
		if (first != ASK_CHAIN)
			return first;
		first = chain_ask(ctx, packet);
		if (first != REASON_NONE)
			return first;
	}
	return REASON_DROP_INTERNAL;
}

#define PATH_MTU_LEAST 552 /* octets; Linux believes no less, either (net.ipv4.route.min_pmtu) */

/*
 * Whether an error from outside asks for packets so short as no link on the path needs them, so that a transfer goes
 * by crumbs (RFC 5927 §7): the session is all that who forges it has to guess. 0 is what routers said before RFC 1191.
 */
static __noinline bool mtu_is_refused(ctx_t *ctx, const struct packet *packet, const struct session *session)
{
	struct icmphdr icmp;
	struct next_hop *out;

	if (!packet || !session || packet->hairpin || ctx_load(ctx, packet->l4, &icmp, sizeof(icmp)))
		return false;
	if (icmp.type != ICMP_DEST_UNREACH || icmp.code != ICMP_FRAG_NEEDED ||
	    bpf_ntohs(icmp.un.frag.mtu) >= PATH_MTU_LEAST)
		return false;
	out = DRY ? 0 : next_hop_at(session->next_hop_out);
	return (out && out->mtu ? out->mtu : unknown_mtu(ctx, session, DIRECTION_OUT)) >= PATH_MTU_LEAST;
}

__noinline int public_icmp_error(ctx_t *ctx, const struct packet *packet)
{
	struct control *control = control_get();
	struct address *address;
	struct quoted quoted = {};
	struct session *session;
	struct next_hop *hop;
	enum reason reason;

	if (!packet || !control)
		return CTX_DROP;
	address = bpf_map_lookup_elem(&address_table, &packet->tuple.destination);
	if (!address && destination_is_local(ctx, packet->tuple.source, packet->tuple.destination))
		return verdict(ctx, packet, to_gateway(ctx, packet, SIDE_PUBLIC), SIDE_PUBLIC);
	if (!packet->hairpin && source_is_banned(packet))
		return verdict(ctx, packet, REASON_DROP_BANNED, SIDE_PUBLIC);
	reason = quoted_parse(ctx, packet, &quoted);
	session = reason == REASON_NONE && quoted.tuple.source == packet->tuple.destination
			  ? quoted_session(&quoted, packet->generation)
			  : 0;
	if (!session)
		return verdict(ctx, packet,
			       !address				? REASON_DROP_NOT_FOR_US
			       : is_local(ctx, packet, address) ? to_gateway(ctx, packet, SIDE_PUBLIC)
			       : reason != REASON_NONE		? reason
								: REASON_DROP_NO_SESSION,
			       SIDE_PUBLIC);
	if ((session->flags & SESSION_HAIRPIN) && !packet->hairpin)
		return verdict(ctx, packet, REASON_DROP_SPOOFED_SOURCE, SIDE_PUBLIC);
	if (icmp_checksum_is_wrong(ctx, packet, &quoted))
		return verdict(ctx, packet, REASON_DROP_BAD_CHECKSUM, SIDE_PUBLIC);
	if (mtu_is_refused(ctx, packet, session))
		return verdict(ctx, packet, REASON_DROP_SMALL_MTU, SIDE_PUBLIC);
	reason = session_judge(session, packet, DIRECTION_IN, false);
	if (reason == ASK_CHAIN)
		return TO_CHAIN;
	if (reason != REASON_NONE)
		return verdict(ctx, packet, reason, SIDE_PUBLIC);
	if (packet->ttl <= 1)
		return verdict(ctx, packet, REASON_DROP_TTL_EXPIRED, SIDE_PUBLIC);
	if (forward_hop(ctx, session, DIRECTION_IN, clock_tick(), control->route_epoch, &hop) != ROUTE_FOUND)
		return verdict(ctx, packet, REASON_DROP_NO_ROUTE, SIDE_PUBLIC);
	if (!icmp_error_rewrite(ctx, packet, &quoted, session, DIRECTION_IN))
		return verdict(ctx, packet, REASON_DROP_MALFORMED, SIDE_PUBLIC);
	return forward_send(ctx, packet, hop, SIDE_PUBLIC);
}

/* Whether the packet comes to a service's port of an address that is outbound and of the pool. */
__noinline bool port_is_lent(const struct packet *packet)
{
	struct address *address;

	if (!packet)
		return false;
	address = bpf_map_lookup_elem(&address_table, &packet->tuple.destination);
	return address && address->lends && bound_find(&packet->tuple);
}

/* There a service's port is its binding's, unless a socket of the gateway has it; every other is NAT's. */
__noinline enum reason lent_way(ctx_t *ctx, const struct packet *packet, struct session_key *key, enum reason reason)
{
	if (!packet || !key || !bound_find(&packet->tuple))
		return reason;
	if (!packet->hairpin && socket_waits(ctx, packet))
		return REASON_TO_GATEWAY;
	key->side = KEY_OUTSIDE;
	return REASON_NONE;
}

/* Whether the sender of a packet to the pool is told that it may open nothing. */
static __always_inline bool public_refuses(const struct packet *packet, enum reason reason)
{
	__u32 destination = packet->tuple.destination;
	struct address *address = bpf_map_lookup_elem(&address_table, &destination);

	return address && (address->kind == ADDRESS_POOL || port_is_lent(packet)) && !packet->fragment &&
	       refusals_are_on(packet) &&
	       (reason == REASON_DROP_NO_BINDING || reason == REASON_DROP_NO_RESERVATION || proof_is_lost(reason) ||
		reason == REASON_DROP_NOT_SYN);
}

static __always_inline int public_stray(ctx_t *ctx, struct packet *packet, bool local, bool inward, enum reason reason)
{
	enum reason said = stray_judge(ctx, packet, local, inward);

	if (stray_is_trapped(said))
		return trap_spring(ctx, packet);
	if (said == REASON_NONE && reason == REASON_TO_GATEWAY && question_is_due(packet)) {
		if (!packet->fragment)
			bpf_tail_call(ctx, &programs, PROGRAM_QUESTION);
		else if (!question_is_paid(packet->tuple.source, false))
			said = REASON_DROP_QUESTION_LIMIT;
	}
	if (said == REASON_NONE && !local && public_refuses(packet, reason))
		return refuse_stranger(ctx, packet, reason, SIDE_PUBLIC);
	return verdict(ctx, packet, said == REASON_NONE ? reason : said, SIDE_PUBLIC);
}

/* The end of what parsing could not make a flow of, for the reason that unparsed() tells; later: of a later fragment. */
static __always_inline int public_unparsed(ctx_t *ctx, struct packet *packet, enum reason reason, bool later)
{
	if (reason != REASON_TO_GATEWAY || packet->hairpin)
		return verdict(ctx, packet, reason, SIDE_PUBLIC);
	if (later) {
		enum reason said = fragment_stray(ctx, packet);

		return verdict(ctx, packet, said == REASON_NONE ? reason : said, SIDE_PUBLIC);
	}
	return public_stray(ctx, packet, true, true, reason);
}

/*
 * A lease for a client that has no address yet goes to the address that it is of (RFC 2131 section 4.1). The client hears
 * it from the kernel, which must not route it: its way ends here.
 */
__noinline bool lease_keep(ctx_t *ctx)
{
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct iphdr *ip = (void *)(eth + 1);

	if ((void *)(ip + 1) > (void *)(long)ctx->data_end)
		return false;
	ttl_write(ip, 1);
	return true;
}

/* A packet to an address that the data plane has nothing to do with. */
static __always_inline int public_untranslated(ctx_t *ctx, struct packet *packet, bool hairpin)
{
	if (!destination_is_local(ctx, packet->tuple.source, packet->tuple.destination) &&
	    (hairpin || !is_lease(packet) || !lease_keep(ctx)))
		return verdict(ctx, packet, REASON_DROP_NOT_FOR_US, SIDE_PUBLIC);
	if (hairpin)
		return verdict(ctx, packet, REASON_TO_GATEWAY, SIDE_PUBLIC);
	return public_stray(ctx, packet, true, stray_comes_in(packet, true), REASON_TO_GATEWAY);
}

/* The end of a packet that opens nothing, for that reason. Where nobody inside is meant, the gateway may be. */
static __always_inline int public_end(ctx_t *ctx, struct packet *packet, const struct address *address,
				      enum reason reason)
{
	bool nobody = reason == REASON_DROP_NO_MAPPING || reason == REASON_DROP_NO_BINDING ||
		      reason == REASON_DROP_NO_RESERVATION || reason == REASON_DROP_NO_SESSION;

	if (!packet->hairpin) {
		if (stray_is_trapped(reason))
			return trap_spring(ctx, packet);
		if (nobody && is_local(ctx, packet, address) && !port_is_lent(packet)) /* I9: the host, or nobody */
			reason = REASON_TO_GATEWAY;
		if (nobody || reason == REASON_TO_GATEWAY || reason == REASON_DROP_NOT_SYN)
			return public_stray(ctx, packet, reason == REASON_TO_GATEWAY,
					    stray_comes_in(packet, reason == REASON_TO_GATEWAY), reason);
	}
	if (public_refuses(packet, reason))
		return refuse_stranger(ctx, packet, reason, SIDE_PUBLIC);
	return verdict(ctx, packet, reason, SIDE_PUBLIC);
}

/* From the pool, and its binding is none any more. */
static __always_inline bool session_is_left_over(const struct session *session)
{
	struct binding *binding = session->origin == ORIGIN_POOL ? binding_at(session->holds.pool.binding) : 0;

	return binding && !*(volatile __u32 *)&binding->open;
}

static __always_inline int public_side(ctx_t *ctx, bool hairpin)
{
	struct packet packet = {.hairpin = hairpin};
	enum reason reason = packet_parse(ctx, &packet);
	struct control *control = control_get();
	struct session_key key = {};
	struct session *session;
	struct address *address;
	__u32 number, slot = 0;

	if (!control)
		return verdict(ctx, &packet, REASON_DROP_INTERNAL, SIDE_PUBLIC);
	packet.generation = hairpin ? hairpin_generation() : *(volatile __u32 *)&control->generation;
	/* Who has left no session has left no first fragment, and nothing of his is held. */
	if (reason == REASON_DROP_FRAGMENT && remote_was_seen(packet.tuple.source) &&
	    fragment_is_awaited(&packet, FRAGMENT_IN))
		fragment_enter(ctx, FRAGMENT_IN);
	if (__builtin_expect(reason != REASON_NONE, 0))
		return public_unparsed(ctx, &packet, unparsed(ctx, &packet, reason, SIDE_PUBLIC),
				       reason == REASON_DROP_FRAGMENT);
	if (__builtin_expect(packet.kind == PACKET_ICMP_ERROR, 0)) {
		int action = public_icmp_error(ctx, &packet);

		if (action == TO_CHAIN) {
			reason = chain_ask(ctx, &packet);
			if (reason != REASON_NONE)
				return verdict(ctx, &packet, reason, SIDE_PUBLIC);
			action = public_icmp_error(ctx, &packet);
		}
		return action == TO_CHAIN ? verdict(ctx, &packet, REASON_DROP_INTERNAL, SIDE_PUBLIC) : action;
	}
	if (packet.kind != PACKET_FLOW)
		return not_ipv4(ctx, &packet, SIDE_PUBLIC);
	address = bpf_map_lookup_elem(&address_table, &packet.tuple.destination);
	/* An open session at home says all: its mapping is not read. It stays what it is, as an ended one rests first. */
	number = address && address->kind == ADDRESS_OUTBOUND ? session_find_kept(&packet.tuple, address->group) : 0;
	if (!address)
		number = own_find(&packet.tuple, packet.generation);
	else if (!number)
		number = public_find(&packet.tuple, address, control, packet.generation, &key, &slot, &reason);
	session = session_entered(dry_found(&packet, &number));
	if (!session)
		return verdict(ctx, &packet, REASON_DROP_INTERNAL, SIDE_PUBLIC);
	/*
	 * A closing session without a mapping is over for who would open it again: a binding or a chain does. So is one that
	 * its binding has left behind: who says SYN was given the address for whoever has it now (I9).
	 */
	if (number && (!session_is_of(session, &packet.tuple) || session_is_over(session) ||
		       (tcp_is_pure_syn(packet.tcp_flags) && !session_has_mapping(session->origin) &&
			(session_gives_way(session, &packet) || session_is_left_over(session)))))
		number = 0;
	trace_step(TRACE_FIND, number != 0, 0, 0, number);
	if (__builtin_expect(!number, 0)) {
		bool sent;

		if (!address)
			return public_untranslated(ctx, &packet, hairpin);
		if (!key.side)
			reason = public_key(&packet.tuple, address, packet.generation, &key, &slot);
		sent = address->kind != ADDRESS_POOL && address->kind != ADDRESS_OWN && chain_is_static(&packet);
		if (address->lends)
			reason = lent_way(ctx, &packet, &key, reason);
		reason = public_first(ctx, &packet, &key, slot, sent, reason, &number);
		if (reason != REASON_NONE)
			return public_end(ctx, &packet, address, reason);
		session = session_entered(number);
		if (!session)
			return verdict(ctx, &packet, REASON_DROP_INTERNAL, SIDE_PUBLIC);
	}
	if ((session->flags & SESSION_HAIRPIN) && !hairpin)
		return verdict(ctx, &packet, REASON_DROP_SPOOFED_SOURCE, SIDE_PUBLIC);
	return forward(ctx, &packet, session, DIRECTION_IN, control->route_epoch);
}
