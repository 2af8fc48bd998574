/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ICMP errors from inside, about packets that came in.
 */
#pragma once

#include "forward.h"
#include "../guard/gateway_traffic.h"
#include "../nat/icmp.h"

/* The session that an ICMP error from inside is about: the quoted packet is one that came in. 0: none. */
static __noinline __u32 quoted_inside(const struct quoted *quoted)
{
	struct session_key key;
	struct session *session;
	__u32 number;

	if (!quoted)
		return 0;
	key = destination_key(&quoted->tuple, KEY_INSIDE);
	number = session_find(&key);
	session = session_at(number);
	return session && session->life.as.phase == PHASE_LIVE && !session_is_edge(session->origin)
		       ? number
		       : 0; /* record 0 is never live */
}

/*
 * An ICMP error from inside about a packet that came in: its destination is the private endpoint. The session that it is about
 * in *number. REASON_NONE where chains are to judge that.
 */
__noinline enum reason private_error_admit(ctx_t *ctx, const struct packet *packet, __u32 *number)
{
	struct quoted quoted = {};
	enum reason reason;

	if (!packet || !number)
		return REASON_DROP_INTERNAL;
	if (!bpf_map_lookup_elem(&address_table, &packet->tuple.destination)) {
		reason = untranslated(ctx, packet->tuple.source, packet->tuple.destination);
		if ((reason == REASON_TO_GATEWAY || reason == REASON_INSIDE_TO_INSIDE) &&
		    source_is_spoofed(ctx, packet, SIDE_PRIVATE))
			return REASON_DROP_SPOOFED_SOURCE;
		if (reason != REASON_NONE)
			return reason;
	}
	reason = quoted_parse(ctx, packet, &quoted);
	if (reason != REASON_NONE)
		return reason;
	*number = quoted_inside(&quoted);
	if (!*number || quoted.tuple.source != packet->tuple.destination)
		return REASON_DROP_NO_SESSION;
	return icmp_checksum_is_wrong(ctx, packet, &quoted) ? REASON_DROP_BAD_CHECKSUM : REASON_NONE;
}

#define TO_HAIRPIN -16 /* no action of any hook: the packet, translated, enters gateway_hairpin */

/* The same when it may pass. Functions may have changed what it is about. */
__noinline int private_error_send(ctx_t *ctx, const struct packet *packet, __u32 number)
{
	struct session *session = dry_copy(session_at(number));
	struct control *control = control_get();
	struct quoted quoted = {};
	struct next_hop *hop = 0;
	bool hairpin;

	if (!packet || !session || !control)
		return CTX_DROP;
	if (packet->ttl <= 1)
		return verdict(ctx, packet, REASON_DROP_TTL_EXPIRED, SIDE_PRIVATE);
	hairpin = session->marks.as.flags & SESSION_HAIRPIN;
	if (!hairpin &&
	    forward_hop(ctx, session, DIRECTION_OUT, clock_tick(), control->route_epoch, &hop) != ROUTE_FOUND)
		return verdict(ctx, packet, REASON_DROP_NO_ROUTE, SIDE_PRIVATE);
	if (quoted_parse(ctx, packet, &quoted) != REASON_NONE)
		return verdict(ctx, packet, REASON_DROP_MALFORMED, SIDE_PRIVATE);
	if (quoted_inside(&quoted) != number)
		return verdict(ctx, packet, REASON_DROP_BUSY, SIDE_PRIVATE);
	if (icmp_checksum_is_wrong(ctx, packet, &quoted))
		return verdict(ctx, packet, REASON_DROP_BAD_CHECKSUM, SIDE_PRIVATE);
	if (!icmp_error_rewrite(ctx, packet, &quoted, session, DIRECTION_OUT))
		return verdict(ctx, packet, REASON_DROP_MALFORMED, SIDE_PRIVATE);
	return hairpin ? TO_HAIRPIN : forward_send(ctx, packet, hop, SIDE_PRIVATE);
}

static __always_inline int private_error(ctx_t *ctx, struct packet *packet)
{
	struct session *session;
	enum reason reason;
	__u32 number = 0;
	int action;

	reason = private_error_admit(ctx, packet, &number);
	session = dry_copy(session_at(number));
	if (!DRY && reason == REASON_NONE && session && session_waits(session))
		return handshake_enter(ctx, packet, DIRECTION_OUT, session->origin);
	if (reason == REASON_NONE && session)
		reason = error_judge(ctx, session, packet, DIRECTION_OUT);
	if (reason != REASON_NONE || !session)
		return verdict(ctx, packet, reason, SIDE_PRIVATE);
	action = private_error_send(ctx, packet, number);
	if (action != TO_HAIRPIN)
		return action;
	hairpin_enter(ctx, packet);
	return verdict(ctx, packet, REASON_DROP_INTERNAL, SIDE_PRIVATE);
}
