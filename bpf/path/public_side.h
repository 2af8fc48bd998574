/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packets from outside: an open session's, or the first of one. Packets of a hairpin come here too, already translated on
 * their way out (RFC 4787 REQ-9).
 */
#pragma once

#include "forward.h"
#include "public_end.h"
#include "public_error.h"
#include "public_open.h"
#include "../fragment/enter.h"
#include "../handshake/overflow_judge.h"
#include "../packet/parse.h"
#include "../tunnel/proxy.h"

static __always_inline int public_side(ctx_t *ctx, bool hairpin)
{
	struct packet packet = {.hairpin = hairpin};
	enum reason reason = packet_parse(ctx, &packet);
	struct control *control = control_get();
	struct target target = {};
	struct session *session;

	if (!control)
		return verdict(ctx, &packet, REASON_DROP_INTERNAL, SIDE_PUBLIC);
	packet.generation = hairpin ? hairpin_generation() : *(volatile __u32 *)&control->generation;
	/* Who has left no session has left no first fragment, and nothing of it is held. */
	if (reason == REASON_DROP_FRAGMENT && remote_was_seen(packet.tuple.source) &&
	    fragment_is_awaited(&packet, FRAGMENT_IN))
		fragment_enter(ctx, FRAGMENT_IN);
	if (__builtin_expect(reason != REASON_NONE, 0))
		return public_unparsed(ctx, &packet, unparsed(ctx, &packet, reason, SIDE_PUBLIC),
				       reason == REASON_DROP_FRAGMENT);
	if (__builtin_expect(packet.kind == PACKET_ICMP_ERROR, 0))
		return public_error(ctx, &packet);
	if (packet.kind != PACKET_FLOW)
		return not_ipv4(ctx, &packet, SIDE_PUBLIC);
	if (!hairpin && __builtin_expect(packet.tuple.destination == control->edge_address, 0) &&
	    edge_is_meant(ctx, &packet))
		return edge_enter(ctx, &packet, PROGRAM_EDGE_IN, SIDE_PUBLIC);
	session = public_find(&packet, control, &target);
	if (__builtin_expect(session != 0, 1)) {
		if (public_is_forged(session, &packet))
			return verdict(ctx, &packet, REASON_DROP_SPOOFED_SOURCE, SIDE_PUBLIC);
		session = dry_copy(session);
		if (!DRY && __builtin_expect(session->life.as.tcp == TCP_ORDERED, 0))
			return handshake_enter(ctx, &packet, DIRECTION_IN, ORIGIN_WEB);
		reason = forward_judge(ctx, &packet, session, DIRECTION_IN);
		if (__builtin_expect(reason != REASON_NONE, 0))
			return verdict(ctx, &packet, reason, SIDE_PUBLIC);
		if (!DRY && __builtin_expect(session_is_guest(session), 0) && guest_begins(ctx, &packet, session))
			return handshake_enter(ctx, &packet, DIRECTION_IN, ORIGIN_WEB);
	} else {
		struct flow *flow = flow_new();
		__u32 number = 0;

		if (!target.address)
			return public_untranslated(ctx, &packet, hairpin);
		if (!flow) {
			reason = REASON_DROP_INTERNAL;
		} else if (address_reads_names(target.address) && web_serves(&packet)) {
			if (!DRY)
				return handshake_enter(ctx, &packet, DIRECTION_IN, ORIGIN_WEB);
			reason = web_dry(ctx, &packet, flow);
		} else {
			reason = public_judge(ctx, &packet, &target, flow);
			if (DRY && reason == REASON_ANSWERED_COOKIE)
				reason = overflow_dry(ctx, &packet, flow);
		}
		if (reason == REASON_NONE)
			reason = public_open(&packet, flow, &number);
		if (reason == REASON_ANSWERED_COOKIE)
			return handshake_enter(ctx, &packet, DIRECTION_IN, ORIGIN_COOKIE);
		if (reason != REASON_NONE)
			return public_end(ctx, &packet, target.address, reason);
		session = session_entered(number);
		if (!session)
			return verdict(ctx, &packet, REASON_DROP_INTERNAL, SIDE_PUBLIC);
		if (public_is_forged(session, &packet))
			return verdict(ctx, &packet, REASON_DROP_SPOOFED_SOURCE, SIDE_PUBLIC);
		session = dry_copy(session);
	}
	return forward(ctx, &packet, session, DIRECTION_IN, control->route_epoch);
}
