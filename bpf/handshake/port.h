/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ports of web addresses: those at which names are read, of whoever is let in. All others there are nobody's, or, where
 * the address is outbound, too, what they are of any outbound address.
 */
#pragma once

#include "../include/maps.h"
#include "../packet/packet.h"
#include "../path/chain.h"

/* Whether names are read there, which comes before all else that the address may be for. */
static __always_inline bool address_reads_names(const struct address *address)
{
	return address->mss;
}

/* Whether the packet comes to a port of a web address at which names are read. */
static __always_inline bool web_serves(const struct packet *packet)
{
	struct settings *settings = settings_get(packet->generation);
	bool udp = packet->tuple.protocol == IPPROTO_UDP;

	if (!settings || (!udp && packet->tuple.protocol != IPPROTO_TCP) || !packet->tuple.destination_port)
		return false;
	for (int i = 0; i < WEB_PORTS; i++) {
		if ((udp ? settings->web_port[1][i] : settings->web_port[0][i]) == packet->tuple.destination_port)
			return true;
	}
	return false;
}

/* Whether the protection lets the sender of a SYN, or of a datagram, in: who is kept out learns nothing. */
__noinline enum reason web_protect(ctx_t *ctx, struct packet *packet)
{
	struct nf_packet *nf = nf_packet();
	struct settings *settings;

	if (!packet || !nf)
		return REASON_DROP_INTERNAL;
	settings = settings_get(packet->generation);
	if (!settings || !settings->input)
		return REASON_NONE;
	chain_describe(nf, packet, &packet->tuple, false, NF_HOOK_INPUT, settings->input);
	return chain_ask(ctx, packet, nf);
}

/* What a dry run tells of a packet there: how a SYN or an Initial of QUIC ends, before it is known whose name its sender wants. */
static __always_inline enum reason web_dry(ctx_t *ctx, struct packet *packet)
{
	enum reason reason = source_is_banned(packet) ? REASON_DROP_BANNED : REASON_NONE;
	bool tcp = packet->tuple.protocol == IPPROTO_TCP;

	if (reason == REASON_NONE && tcp && !tcp_is_pure_syn(packet->tcp_flags))
		reason = REASON_DROP_COOKIE;
	if (reason == REASON_NONE)
		reason = web_protect(ctx, packet);
	if (reason != REASON_NONE)
		return reason;
	return tcp ? REASON_ANSWERED_COOKIE : REASON_HELD_FOR_NAME;
}
