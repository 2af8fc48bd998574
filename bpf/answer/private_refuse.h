/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a sender inside is told about a packet that opens no session.
 */
#pragma once

#include "../path/forward.h"

/* With an outbound address that has left: a segment without a session may be of one of them. */
static __always_inline bool sessions_have_ended(void)
{
	struct control *control = control_get();

	return control && control->left;
}

/* Tells a sender inside why its packet opens no session (RFC 5508 REQ-8, RFC 6888 REQ-11). */
__noinline int private_refuse(ctx_t *ctx, const struct packet *packet, enum reason reason)
{
	if (!packet)
		return CTX_DROP;
	switch (reason) {
	case REASON_DROP_BANNED:
	case REASON_DROP_DENIED:
		return chain_refuse(ctx, packet, reason);
	case REASON_DROP_NO_ROUTE:
		return refuse_no_route(ctx, packet, SIDE_PRIVATE);
	case REASON_DROP_NOT_SYN:
		/* A host that answers a client who is gone, or lost: it forgets the client. Or its session has ended with our address. */
		if ((packet->tcp_flags & (TCP_FLAG_SYN | TCP_FLAG_ACK)) == (TCP_FLAG_SYN | TCP_FLAG_ACK) ||
		    sessions_have_ended())
			return refuse_stranger(ctx, packet, reason, SIDE_PRIVATE);
		return verdict(ctx, packet, reason, SIDE_PRIVATE);
	case REASON_DROP_TTL_EXPIRED:
		return refuse(ctx, packet, reason, SIDE_PRIVATE, ICMP_TIME_EXCEEDED, ICMP_EXC_TTL, 0);
	case REASON_DROP_SESSION_CONFLICT:
		/* Who has ports tries another one. */
		if (!is_basic(packet->tuple.protocol))
			return verdict(ctx, packet, reason, SIDE_PRIVATE);
		return refuse(ctx, packet, reason, SIDE_PRIVATE, ICMP_DEST_UNREACH, ICMP_HOST_UNREACH, 0);
	case REASON_DROP_NO_ADDRESS:
	case REASON_DROP_NO_PORT:
	case REASON_DROP_HOST_SESSIONS:
	case REASON_DROP_HOST_PORTS:
	case REASON_DROP_HOST_RATE:
	case REASON_DROP_MAPPING_SESSIONS:
	case REASON_DROP_SESSION_TABLE_FULL:
	case REASON_DROP_SESSION_INDEX_FULL:
	case REASON_DROP_MAPPING_INDEX_FULL:
		return refuse(ctx, packet, reason, SIDE_PRIVATE, ICMP_DEST_UNREACH, ICMP_HOST_UNREACH, 0);
	default:
		return verdict(ctx, packet, reason, SIDE_PRIVATE);
	}
}
