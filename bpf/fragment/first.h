/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The first fragment of a packet, when it was judged and translated: it leaves word for the others. In a hairpin it does
 * so at its second end for both, so that nothing follows it before all is known.
 */
#pragma once

#include "carrier.h"
#include "../nat/identification.h"

/* The identification that the fragments have behind the gateway, in *number; why the first one ends. */
static __always_inline enum reason first_number(const struct session *session, __u32 record, __u64 tag, __u32 whose,
						__u16 identification, enum direction direction, __u16 *number)
{
	__u64 word = context_find(tag, whose);
	struct session *other = word ? session_at(context_session(word)) : 0;

	*number = identification;
	if (word && context_state(word) == CONTEXT_DEAD)
		return REASON_DROP_BAD_FRAGMENT;
	if (word && context_session(word) == record) { /* it comes twice */
		*number = context_number(word);
		return REASON_NONE;
	}
	if (other && other->life.as.phase == PHASE_LIVE) {
		context_put(tag, whose, 0, CONTEXT_DEAD, 0);
		return REASON_DROP_BAD_FRAGMENT;
	}
	if (direction == DIRECTION_OUT)
		*number = identification_next(session, 1);
	return REASON_NONE;
}

static __always_inline __u64 first_tag(const struct packet *packet, enum fragment_side side)
{
	return fragment_tag(packet->tuple.source, packet->tuple.destination, packet->identification,
			    packet->tuple.protocol, side);
}

/* Before a hairpin's second pass, which may still drop the packet. */
__noinline enum reason fragment_turn(ctx_t *ctx, const struct packet *packet, const struct session *session)
{
	struct fragment_here *here = fragment_here();
	struct session_key key;
	enum reason reason;

	if (!packet || !session || !here)
		return REASON_DROP_INTERNAL;
	key = session_inside_key(session);
	here->tag = first_tag(packet, FRAGMENT_OUT);
	here->whose = packet->tuple.source;
	here->session = session_find(&key);
	reason = first_number(session, here->session, here->tag, here->whose, packet->identification, DIRECTION_OUT,
			      &here->identification);
	if (reason != REASON_NONE)
		return reason;
	return identification_write(ctx, here->identification) ? REASON_NONE : REASON_DROP_INTERNAL;
}

/* REASON_NONE when the fragment may be sent, and others may follow. */
__noinline enum reason fragment_leave(ctx_t *ctx, const struct packet *packet, const struct session *session,
				      enum direction direction)
{
	struct fragment_here *here = fragment_here();
	struct session_key key;
	enum reason reason;
	__u16 number;
	__u32 record, whose;
	__u64 tag;

	if (!packet || !session || !here)
		return REASON_DROP_INTERNAL;
	key = session_inside_key(session);
	record = session_find(&key);
	if (!record)
		return REASON_DROP_BUSY;
	whose = packet->hairpin ? here->whose : packet->tuple.source;
	tag = first_tag(packet, packet->hairpin		     ? FRAGMENT_HAIRPIN
				: direction == DIRECTION_OUT ? FRAGMENT_OUT
							     : FRAGMENT_IN);
	reason = first_number(session, record, tag, whose, packet->identification, direction, &number);
	if (reason != REASON_NONE)
		return reason;
	if (direction == DIRECTION_OUT && !identification_write(ctx, number))
		return REASON_DROP_INTERNAL;
	context_put(tag, whose, record, CONTEXT_LIVE, number);
	if (packet->hairpin) {
		tag = here->tag;
		context_put(tag, whose, here->session, CONTEXT_LIVE, here->identification);
	} else if (direction == DIRECTION_IN) {
		remote_see(whose);
	}
	here->held = tag;
	here->set = hold_set(tag, whose);
	here->ways = hold_claim(tag, whose);
	return REASON_NONE;
}

/* How a packet goes on that has left word: an action where it has gone with those that were held, or CARRIER_STAYS. */
static __always_inline int first_release(ctx_t *ctx, const struct session *session, enum direction direction,
					 const struct next_hop *hop)
{
	struct fragment_here *here = fragment_here();
	__u16 next = !hop ? 0 : direction == DIRECTION_OUT ? session->next_hop_out : session->next_hop_in;

	return here && here->ways ? carrier_release(ctx, next, direction == DIRECTION_OUT ? SIDE_PRIVATE : SIDE_PUBLIC)
				  : CARRIER_STAYS;
}
