/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Strays: packets from outside that are for the gateway itself, or for nobody. No chain is for them, but the
 * protection is asked: about the flow from outside that the packet is of, or about the flow from the gateway that it
 * answers. There are no sessions for these, so that the packet has to tell.
 */
#pragma once

#include "../path/chain.h"
#include "gateway_traffic.h"
#include "../nat/port.h"
#include "port_mark.h"
#include "../path/public_open.h"
#include "trap.h"

/*
 * Whether the packet is of a flow that began outside. What comes to a port that the kernel gives to the gateway's own
 * sockets is an answer, but for a SYN.
 */
static __always_inline bool stray_comes_in(const struct packet *packet, bool local)
{
	struct control *control = control_get();
	__u16 port = bpf_ntohs(packet->tuple.destination_port);

	if (packet->tuple.protocol == IPPROTO_ICMP)
		return !packet->reply;
	if (packet->tuple.protocol == IPPROTO_TCP && tcp_is_pure_syn(packet->tcp_flags))
		return true;
	return !local || !control || port < control->own_first || port > control->own_last;
}

/* Resolvers ask the name server for others, wherever those are: who may not come is told when he does. */
static __always_inline __u8 stray_ports(const struct packet *packet, const struct settings *settings)
{
	const struct tuple *tuple = &packet->tuple;

	return tuple->destination == settings->name_server && tuple->destination_port == settings->name_port &&
			       tuple->protocol != IPPROTO_ICMP
		       ? PORT_IGNORED
		       : 0;
}

/* REASON_NONE where nothing is to be asked, or ASK_CHAIN. What is for nobody is shown to no more than the honeypot. */
__noinline enum reason stray_describe(ctx_t *ctx, const struct packet *packet, bool local, bool inward)
{
	struct nf_packet *told = nf_packet();
	struct settings *settings;
	struct tuple flow = {};
	enum reason reason;
	bool asked;

	if (!packet || !told)
		return REASON_DROP_INTERNAL;
	settings = settings_get(packet->generation);
	if (!settings || address_is_link_local(packet->tuple.destination) || is_lease(packet))
		return REASON_NONE;
	asked = settings->stray && (local || settings->traps);
	if (asked && source_is_banned(packet))
		return REASON_DROP_BANNED;
	if ((asked || local) && source_is_spoofed(ctx, packet, SIDE_PUBLIC))
		return REASON_DROP_SPOOFED_SOURCE;
	if (!asked)
		return REASON_NONE;
	flow = packet->tuple;
	if (!inward) {
		flow.source = packet->tuple.destination;
		flow.destination = packet->tuple.source;
		flow.source_port = packet->tuple.destination_port;
		flow.destination_port = packet->tuple.source_port;
	}
	reason = chain_describe(packet, &flow, !inward, NF_STRAY, settings->stray);
	if (!inward)
		chain_is_open(true, 0);
	told->ports = stray_ports(packet, settings);
	return reason;
}

/* What the protection says: REASON_NONE, or why the packet ends. */
static __always_inline enum reason stray_judge(ctx_t *ctx, struct packet *packet, bool local, bool inward)
{
	enum reason reason = stray_describe(ctx, packet, local, inward);
	struct nf_packet *told = nf_packet();
	struct in6 source = {};

	if (reason != ASK_CHAIN || !told)
		return reason;
	reason = chain_ask(ctx, packet);
	if (told->trap != NF_TRAP_SPRUNG || packet->tuple.protocol != IPPROTO_TCP ||
	    (packet->tcp_flags & TCP_FLAG_SYN) || (!inward && port_is_ours(ctx, &packet->tuple)))
		return reason;
	told->trap = NF_TRAP_NONE;
	if (!trap_is_proven(ctx, packet))
		return inward && local ? REASON_DROP_TRAPPED : reason;
	source.word[2] = bpf_htonl(0xffff); /* IPv4 */
	source.word[3] = packet->tuple.source;
	trap_tell(&source, packet->tuple.destination_port);
	return REASON_DROP_TRAPPED;
}

/* Whether the honeypot has dropped the packet. */
static __always_inline bool stray_is_trapped(enum reason reason)
{
	struct nf_packet *told = nf_packet();

	return reason == REASON_DROP_DENIED && told && told->trap == NF_TRAP_SPRUNG;
}
