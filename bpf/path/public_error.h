/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ICMP errors from outside, about packets that we sent.
 */
#pragma once

#include "judge.h"
#include "public_find.h"
#include "../guard/gateway_traffic.h"
#include "../nat/icmp.h"

/* The session that an ICMP error from outside is about: the quoted packet is one that we sent. */
static __noinline __u32 quoted_session(const struct quoted *quoted, __u32 generation)
{
	struct tuple tuple = {};
	struct session_key key = {};
	struct control *control = control_get();
	struct session *session;
	struct address *address;
	enum reason reason;
	__u32 number, slot;

	if (!quoted || !control)
		return 0;
	tuple.source = quoted->tuple.destination;
	tuple.source_port = quoted->tuple.destination_port;
	tuple.destination = quoted->tuple.source;
	tuple.destination_port = quoted->tuple.source_port;
	tuple.protocol = quoted->tuple.protocol;
	address = bpf_map_lookup_elem(&address_table, &tuple.destination);
	number = address ? address_find(&tuple, address, control, generation, &key, &slot, &reason)
			 : own_find(&tuple, generation);
	session = session_at(number);
	return session && session->life.as.phase == PHASE_LIVE && session_is_of(session, &tuple) &&
			       !session_is_over(session)
		       ? number
		       : 0;
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
	return (out && out->key.as.mtu ? out->key.as.mtu : unknown_mtu(ctx, session, DIRECTION_OUT)) >= PATH_MTU_LEAST;
}

/*
 * An ICMP error: the session that it is about in *number. REASON_NONE where chains are to judge that; else how it ends, or
 * REASON_TO_GATEWAY.
 */
__noinline enum reason public_error_admit(ctx_t *ctx, const struct packet *packet, __u32 *number)
{
	struct quoted quoted = {};
	struct session *session;
	struct address *address;
	enum reason reason;

	if (!packet || !number)
		return REASON_DROP_INTERNAL;
	address = bpf_map_lookup_elem(&address_table, &packet->tuple.destination);
	if (!address && destination_is_local(ctx, packet->tuple.source, packet->tuple.destination))
		return to_gateway(ctx, packet, SIDE_PUBLIC);
	if (!packet->hairpin && source_is_banned(packet))
		return REASON_DROP_BANNED;
	reason = quoted_parse(ctx, packet, &quoted);
	if (reason == REASON_NONE && quoted.tuple.source == packet->tuple.destination)
		*number = quoted_session(&quoted, packet->generation);
	session = session_at(*number);
	if (!*number || !session) {
		if (!address)
			return REASON_DROP_NOT_FOR_US;
		if (is_local(ctx, packet, address))
			return to_gateway(ctx, packet, SIDE_PUBLIC);
		return reason != REASON_NONE ? reason : REASON_DROP_NO_SESSION;
	}
	if (public_is_forged(session, packet))
		return REASON_DROP_SPOOFED_SOURCE;
	if (icmp_checksum_is_wrong(ctx, packet, &quoted))
		return REASON_DROP_BAD_CHECKSUM;
	return mtu_is_refused(ctx, packet, session) ? REASON_DROP_SMALL_MTU : REASON_NONE;
}

/* The same when it may pass. Functions may have changed what it is about. */
__noinline int public_error_send(ctx_t *ctx, const struct packet *packet, __u32 number)
{
	struct session *session = dry_copy(session_at(number));
	struct control *control = control_get();
	struct quoted quoted = {};
	struct next_hop *hop;

	if (!packet || !session || !control)
		return CTX_DROP;
	if (packet->ttl <= 1)
		return verdict(ctx, packet, REASON_DROP_TTL_EXPIRED, SIDE_PUBLIC);
	if (forward_hop(ctx, session, DIRECTION_IN, clock_tick(), control->route_epoch, &hop) != ROUTE_FOUND)
		return verdict(ctx, packet, REASON_DROP_NO_ROUTE, SIDE_PUBLIC);
	if (quoted_parse(ctx, packet, &quoted) != REASON_NONE)
		return verdict(ctx, packet, REASON_DROP_MALFORMED, SIDE_PUBLIC);
	if (quoted_session(&quoted, packet->generation) != number)
		return verdict(ctx, packet, REASON_DROP_BUSY, SIDE_PUBLIC);
	if (icmp_checksum_is_wrong(ctx, packet, &quoted))
		return verdict(ctx, packet, REASON_DROP_BAD_CHECKSUM, SIDE_PUBLIC);
	if (mtu_is_refused(ctx, packet, session))
		return verdict(ctx, packet, REASON_DROP_SMALL_MTU, SIDE_PUBLIC);
	if (!icmp_error_rewrite(ctx, packet, &quoted, session, DIRECTION_IN))
		return verdict(ctx, packet, REASON_DROP_MALFORMED, SIDE_PUBLIC);
	return forward_send(ctx, packet, hop, SIDE_PUBLIC);
}

static __always_inline int public_error(ctx_t *ctx, struct packet *packet)
{
	struct session *session;
	enum reason reason;
	__u32 number = 0;

	reason = public_error_admit(ctx, packet, &number);
	session = dry_copy(session_at(number));
	if (reason == REASON_NONE && session)
		reason = error_judge(ctx, session, packet, DIRECTION_IN);
	if (reason != REASON_NONE || !session)
		return verdict(ctx, packet, reason, SIDE_PUBLIC);
	return public_error_send(ctx, packet, number);
}
