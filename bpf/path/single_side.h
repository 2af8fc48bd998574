/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packets to a machine with nobody behind it. The protection is asked about each, as about a gateway's own (guard/input.h),
 * and chains about flows, where there are some (single_flow.h); what else comes is the kernel's business, and nothing is
 * translated, answered or routed here.
 */
#pragma once

#include "single_flow.h"
#include "../packet/parse.h"

/* Whether what parsing made no flow of may pass as nobody here has to do with it. What no kernel takes stays dropped. */
static __always_inline bool single_lets(enum reason reason)
{
	return reason == REASON_DROP_MULTICAST || reason == REASON_DROP_VLAN || reason == REASON_DROP_ETHERTYPE ||
	       reason == REASON_DROP_ICMP_TYPE || reason == REASON_DROP_BAD_ADDRESS;
}

/* chains: there are some. */
static __always_inline int single_side(ctx_t *ctx, bool chains)
{
	struct packet packet = {};
	enum reason reason = packet_parse(ctx, &packet);
	struct control *control = control_get();

	if (!control)
		return verdict(ctx, &packet, REASON_DROP_INTERNAL, SIDE_PUBLIC);
	packet.generation = *(volatile __u32 *)&control->generation;
	if (reason == REASON_NONE && packet.kind == PACKET_IPV6)
		return not_ipv4(ctx, &packet, SIDE_PUBLIC);
	if (chains && reason == REASON_NONE && packet.kind == PACKET_FLOW)
		return single_flow(ctx, &packet);
	if (chains && reason == REASON_NONE && packet.kind == PACKET_ICMP_ERROR)
		return single_error(ctx, &packet);
	if (reason == REASON_NONE && packet.kind == PACKET_FLOW)
		return public_input(ctx, &packet, true, input_is_inward(&packet, true), REASON_TO_GATEWAY);
	if (reason == REASON_TO_GATEWAY)
		return public_input(ctx, &packet, true, true, reason);
	if (reason == REASON_DROP_FRAGMENT || reason == REASON_DROP_PROTOCOL)
		reason = fragment_input(ctx, &packet);
	else if (reason == REASON_NONE || single_lets(reason)) /* ARP and ICMP errors among it */
		reason = source_is_banned(&packet) ? REASON_DROP_BANNED : REASON_NONE;
	return verdict(ctx, &packet, reason == REASON_NONE ? REASON_TO_GATEWAY : reason, SIDE_PUBLIC);
}
