/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ports of web addresses: those at which names are read, of whoever is let in. All others there are nobody's, or, where
 * the address is outbound, too, what they are of any outbound address.
 */
#pragma once

#include "../include/maps.h"
#include "../packet/packet.h"
#include "../path/public_admit.h"

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

/* What comes before all else is asked: REASON_NONE, or why the packet opens nothing. */
static __always_inline enum reason web_guard(ctx_t *ctx, const struct packet *packet)
{
	if (packet->link_broadcast)
		return REASON_DROP_LINK_BROADCAST;
	if (source_is_banned(packet))
		return REASON_DROP_BANNED;
	if (source_is_spoofed(ctx, packet, SIDE_PUBLIC))
		return REASON_DROP_SPOOFED_SOURCE;
	return packet->ttl <= 1 ? REASON_DROP_TTL_EXPIRED : REASON_NONE;
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

/* Whether the flow may open its session. */
static __always_inline enum reason web_judge(ctx_t *ctx, struct packet *packet, struct flow *flow)
{
	enum reason reason = service_judge(flow->private_address, flow->private_port, flow->protocol,
					   flow->origin << 8 | flow->flags, packet->generation);

	return reason == REASON_NONE ? chain_judge(ctx, packet, flow) : reason;
}

/*
 * A dry run of a packet there: what is asked before its name is read, and, if the daemon asks about a name, what is asked
 * then: REASON_NONE where flow says whom it goes to.
 */
static __always_inline enum reason web_dry(ctx_t *ctx, struct packet *packet, struct flow *flow)
{
	enum reason reason = web_guard(ctx, packet);
	bool tcp = packet->tuple.protocol == IPPROTO_TCP, whole;

	if (reason == REASON_NONE && tcp && !tcp_is_pure_syn(packet->tcp_flags))
		reason = REASON_DROP_COOKIE;
	if (reason == REASON_NONE)
		reason = web_protect(ctx, packet);
	if (reason != REASON_NONE)
		return reason;
	trace_step(TRACE_COOKIE, tcp, 0, 0, 0);
	if (!dry_lent(&flow->private_address, &flow->private_port, &whole))
		return REASON_HELD_FOR_NAME; /* a SYN, too: its connection waits for its name */
	flow->origin = ORIGIN_WEB;
	flow_comes_in(flow, packet);
	return web_judge(ctx, packet, flow);
}
