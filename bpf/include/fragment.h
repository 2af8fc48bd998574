/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fragments from outside for the gateway itself: what the protection says about the flow that they are of, as far as they
 * tell it.
 */
#pragma once

#include "stray.h"

/* What the first fragment of a packet tells of its flow. False of later ones, and of one that is too short. */
__noinline bool fragment_describe(ctx_t *ctx, struct packet *packet)
{
	__u8 header[14]; /* of TCP as far as the flags */
	__u16 offset;

	if (!packet)
		return false;
	if (ctx_load(ctx, ETH_HLEN + __builtin_offsetof(struct iphdr, frag_off), &offset, sizeof(offset)) ||
	    offset & bpf_htons(IP_OFFSET))
		return false;
	switch (packet->tuple.protocol) {
	case IPPROTO_TCP:
		if (ctx_load(ctx, packet->l4, header, sizeof(header)))
			return false;
		packet->tcp_flags = header[13];
		break;
	case IPPROTO_UDP:
	case IPPROTO_ICMP:
		if (ctx_load(ctx, packet->l4, header, 4))
			return false;
		break;
	default:
		return true;
	}
	packet->reply = packet->tuple.protocol == IPPROTO_ICMP && header[0] == ICMP_ECHOREPLY;
	if (packet->tuple.protocol != IPPROTO_ICMP) {
		packet->tuple.source_port = header[0] | header[1] << 8;
		packet->tuple.destination_port = header[2] | header[3] << 8;
	}
	return true;
}

/*
 * A fragment for the gateway. Of those without ports nobody can tell whose flow they are of: they pass where one of the
 * directions lets them.
 */
static __always_inline enum reason public_fragment(ctx_t *ctx, struct packet *packet)
{
	enum reason said;

	if (fragment_describe(ctx, packet)) {
		said = stray_judge(ctx, packet, true, stray_comes_in(packet, true));
		return stray_is_trapped(said) ? REASON_DROP_TRAPPED : said;
	}
	packet->tuple.protocol = IPPROTO_FRAGMENT;
	said = stray_judge(ctx, packet, true, false);
	return said == REASON_NONE ? said : stray_judge(ctx, packet, true, true);
}
