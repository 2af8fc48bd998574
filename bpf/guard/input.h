/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Local input: packets from outside that are for the gateway itself, or for nobody. No chain is for them, but the
 * protection is asked: about the flow from outside that the packet is of, or about the flow from the gateway that it
 * answers. There are no sessions for these, so that the packet has to tell.
 */
#pragma once

#include "../path/chain.h"
#include "gateway_traffic.h"
#include "../nat/port.h"
#include "port_mark.h"
#include "../path/public_open.h"
#include "honeypot.h"

/*
 * Whether the packet is of a flow that began outside. What comes to a port that the kernel gives to the gateway's own
 * sockets is an answer, but for a SYN.
 */
static __always_inline bool input_is_inward(const struct packet *packet, bool local)
{
	struct control *control = control_get();
	__u16 port = bpf_ntohs(packet->tuple.destination_port);

	if (packet->tuple.protocol == IPPROTO_ICMP)
		return !packet->reply;
	if (packet->tuple.protocol == IPPROTO_TCP && tcp_is_pure_syn(packet->tcp_flags))
		return true;
	return !local || !control || port < control->own_first || port > control->own_last;
}

/* Resolvers ask the name server for others, wherever those are: who may not come is told when it does. */
static __always_inline __u8 input_ports(const struct packet *packet, const struct settings *settings)
{
	const struct tuple *tuple = &packet->tuple;

	return tuple->destination == settings->name_server && tuple->destination_port == settings->name_port &&
			       tuple->protocol != IPPROTO_ICMP
		       ? PORT_IGNORED
		       : 0;
}

/* What of the packet the protection is not asked about: REASON_NONE, or why it ends. *asks: it is asked. */
static __always_inline enum reason input_admit(ctx_t *ctx, const struct packet *packet, const struct settings *settings,
					       bool local, bool *asks)
{
	*asks = false;
	if (address_is_link_local(packet->tuple.destination) || is_lease(packet))
		return REASON_NONE;
	*asks = settings->input && (local || settings->honeypot);
	if (*asks && source_is_banned(packet))
		return REASON_DROP_BANNED;
	return (*asks || local) && source_is_spoofed(ctx, packet, SIDE_PUBLIC) ? REASON_DROP_SPOOFED_SOURCE
									       : REASON_NONE;
}

/* Shows the packet to the protection: of a flow from outside, or in answer to one of the gateway's own. */
static __always_inline void input_describe(struct nf_packet *nf, const struct packet *packet,
					   const struct settings *settings, bool inward)
{
	struct tuple flow = packet->tuple;

	if (!inward) {
		flow.source = packet->tuple.destination;
		flow.destination = packet->tuple.source;
		flow.source_port = packet->tuple.destination_port;
		flow.destination_port = packet->tuple.source_port;
	}
	chain_describe(nf, packet, &flow, !inward, NF_HOOK_INPUT, settings->input);
	if (!inward)
		chain_describe_open(nf, true, 0);
	nf->ports = input_ports(packet, settings);
}

/* The honeypot has the packet: whether it is dropped for that, and told of, if it ends a handshake. reason: without that. */
static __always_inline enum reason input_honeypot(ctx_t *ctx, const struct packet *packet, bool local, bool inward,
						  enum reason reason)
{
	struct in6 source = {};

	if (packet->tuple.protocol != IPPROTO_TCP || (packet->tcp_flags & TCP_FLAG_SYN) ||
	    (!inward && port_is_ours(ctx, &packet->tuple)))
		return reason == REASON_DROP_DENIED ? REASON_DROP_HONEYPOT : reason;
	if (!honeypot_is_completed(ctx, packet))
		return inward && local ? REASON_DROP_HONEYPOT : reason;
	source.word[2] = bpf_htonl(0xffff); /* IPv4 */
	source.word[3] = packet->tuple.source;
	honeypot_report(&source, packet->tuple.destination_port);
	return REASON_DROP_HONEYPOT;
}

/*
 * What the protection says: REASON_NONE, or why the packet ends; REASON_DROP_HONEYPOT is the honeypot's. What is for nobody
 * is shown to no more than that.
 */
__noinline enum reason input_judge(ctx_t *ctx, struct packet *packet, bool local, bool inward)
{
	struct nf_packet *nf = nf_packet();
	struct settings *settings;
	enum reason reason;
	bool asks;

	if (!packet || !nf)
		return REASON_DROP_INTERNAL;
	settings = settings_get(packet->generation);
	if (!settings)
		return REASON_NONE;
	reason = input_admit(ctx, packet, settings, local, &asks);
	if (reason != REASON_NONE || !asks)
		return reason;
	input_describe(nf, packet, settings, inward);
	reason = chain_ask(ctx, packet, nf);
	return nf->honeypot == NF_HONEYPOT_HIT ? input_honeypot(ctx, packet, local, inward, reason) : reason;
}
