/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Strays: packets from outside that are for the gateway itself, or for nobody. No chain is for them, but the
 * protection is asked: about a flow from outside where the packet opens one, and else about the flow from the gateway
 * that it answers. There are no sessions for these, so that the packet has to tell.
 */
#pragma once

#include "chain.h"
#include "gateway_traffic.h"
#include "trap.h"

/* UDP to a port that the kernel gives to the gateway's own sockets is an answer, as far as can be told. */
static __always_inline bool stray_opens(const struct packet *packet, bool local)
{
	struct control *control = control_get();
	__u16 port = bpf_ntohs(packet->tuple.destination_port);

	switch (packet->tuple.protocol) {
	case IPPROTO_TCP:
		return tcp_is_pure_syn(packet->tcp_flags);
	case IPPROTO_ICMP:
		return !packet->reply;
	}
	return !local || !control || port < control->own_first || port > control->own_last;
}

/* REASON_NONE where nothing is to be asked, or ASK_CHAIN. What is for nobody is shown to no more than the honeypot. */
__noinline enum reason stray_describe(const struct packet *packet, bool local)
{
	struct settings *settings;
	struct tuple flow = {};
	enum reason reason;

	if (!packet)
		return REASON_DROP_INTERNAL;
	settings = settings_get(packet->generation);
	if (!settings || !settings->stray || packet->link_broadcast || !(local || settings->traps))
		return REASON_NONE;
	if (source_is_banned(packet))
		return REASON_DROP_BANNED;
	flow = packet->tuple;
	if (stray_opens(packet, local))
		return chain_describe(packet, &flow, false, NF_STRAY, settings->stray);
	flow.source = packet->tuple.destination;
	flow.destination = packet->tuple.source;
	flow.source_port = packet->tuple.destination_port;
	flow.destination_port = packet->tuple.source_port;
	reason = chain_describe(packet, &flow, true, NF_STRAY, settings->stray);
	chain_is_open(true, 0);
	return reason;
}

/* What the protection says: REASON_NONE, or why the packet ends. */
static __always_inline enum reason stray_judge(struct xdp_md *ctx, struct packet *packet, bool local)
{
	enum reason reason = stray_describe(packet, local);
	struct nf_packet *told = nf_packet();
	struct in6 source = {};

	if (reason != ASK_CHAIN || !told)
		return reason;
	reason = chain_ask(ctx, packet);
	if (told->trap != NF_TRAP_SPRUNG || !told->answers)
		return reason;
	told->trap = NF_TRAP_NONE;
	if (!trap_is_proven(ctx, packet))
		return reason;
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
