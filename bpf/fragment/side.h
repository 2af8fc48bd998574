/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fragments but the first: each goes where the first of its packet went (fragment/context.h), by addresses alone.
 */
#pragma once

#include "../packet/parse.h"
#include "../path/private_side.h"
#include "../path/public_side.h"

/* Judges a fragment by the session that it is of, as forward() does a packet. */
static __always_inline enum reason later_judge(ctx_t *ctx, struct packet *packet, struct session *session,
					       enum direction direction)
{
	if (session->policy != policy_epoch(packet->generation)) {
		enum reason reason = session_judge(ctx, session, packet, direction, false);

		if (reason != REASON_NONE)
			return reason;
	}
	return session->marks.as.flags & SESSION_TENTATIVE ? REASON_DROP_CLAIM_UNPROVED : REASON_NONE;
}

/* Writes what a fragment has to be translated: addresses, and its number on the way out. */
static __always_inline bool later_rewrite(ctx_t *ctx, const struct session *session, enum direction direction,
					  __u16 identification)
{
	struct iphdr *ip = (void *)(long)ctx->data + ETH_HLEN;

	if ((void *)(ip + 1) > (void *)(long)ctx->data_end)
		return false;
	if (direction == DIRECTION_IN) {
		ip->daddr = session->private_address;
		ip->check = checksum_update(ip->check, ~session->address_delta);
		return true;
	}
	ip->saddr = session->external_address;
	ip->check = checksum_update(ip->check, session->address_delta);
	return identification_write(ctx, identification);
}

/* The session of the fragment, when the first of its packet has left word; *word. */
static __always_inline struct session *later_session(const struct packet *packet, __u32 whose, enum fragment_side side,
						     __u64 *word)
{
	const struct tuple *tuple = &packet->tuple;
	struct session *session;

	*word = context_find(
		fragment_tag(tuple->source, tuple->destination, packet->identification, tuple->protocol, side), whose);
	if (!*word || context_state(*word) != CONTEXT_LIVE)
		return 0;
	session = session_at(context_session(*word));
	return session && session_has(session, tuple->source, tuple->destination, tuple->protocol,
				      side == FRAGMENT_OUT ? DIRECTION_OUT : DIRECTION_IN)
		       ? session
		       : 0;
}

/* To the next hop of a session, by which it was translated. */
static __always_inline int later_send(ctx_t *ctx, const struct packet *packet, struct session *session,
				      enum direction direction, __u16 identification, enum side side)
{
	struct control *control = control_get();
	struct next_hop *hop;

	if (!control)
		return verdict(ctx, packet, REASON_DROP_INTERNAL, side);
	if (forward_hop(ctx, session, direction, clock_tick(), control->route_epoch, &hop) != ROUTE_FOUND)
		return verdict(ctx, packet, REASON_DROP_NO_ROUTE, side);
	if (hop && packet->wire_length > hop->key.as.mtu && packet->dont_fragment)
		return verdict(ctx, packet, REASON_DROP_TOO_BIG, side);
	if (!later_rewrite(ctx, session, direction, identification))
		return verdict(ctx, packet, REASON_DROP_INTERNAL, side);
	return forward_send(ctx, packet, hop, side);
}

/* Through the session that word is of, and in a hairpin on through the other host's. */
static __always_inline int later_follow(ctx_t *ctx, struct packet *packet, struct session *session, __u64 word,
					enum side side)
{
	enum direction direction = side == SIDE_PRIVATE ? DIRECTION_OUT : DIRECTION_IN;
	enum reason reason;

	if (packet->link_broadcast)
		return verdict(ctx, packet, REASON_DROP_LINK_BROADCAST, side);
	if (packet->ttl <= 1) /* no errors about fragments but the first (RFC 1812 section 4.3.2.7) */
		return verdict(ctx, packet, REASON_DROP_TTL_EXPIRED, side);
	reason = later_judge(ctx, packet, session, direction);
	if (reason != REASON_NONE)
		return verdict(ctx, packet, reason, side);
	if (!(session->marks.as.flags & SESSION_HAIRPIN))
		return later_send(ctx, packet, session, direction, context_number(word), side);
	if (side == SIDE_PUBLIC)
		return verdict(ctx, packet, REASON_DROP_SPOOFED_SOURCE, side);
	if (!later_rewrite(ctx, session, DIRECTION_OUT, context_number(word)))
		return verdict(ctx, packet, REASON_DROP_INTERNAL, side);
	packet->identification = context_number(word);
	packet->tuple.source = session->external_address;
	session = later_session(packet, session->private_address, FRAGMENT_HAIRPIN, &word);
	if (!session)
		return verdict(ctx, packet, REASON_DROP_FRAGMENT, SIDE_PUBLIC);
	packet->hairpin = true;
	reason = later_judge(ctx, packet, session, DIRECTION_IN);
	if (reason != REASON_NONE)
		return verdict(ctx, packet, reason, SIDE_PUBLIC);
	return later_send(ctx, packet, session, DIRECTION_IN, 0, SIDE_PUBLIC);
}

/* Whether it may be of a flow without NAT (own.h): its source is a destination of these, and it is for a host inside. */
static __always_inline bool later_is_own(ctx_t *ctx, const struct packet *packet)
{
	__u32 source = packet->tuple.source, destination = packet->tuple.destination;
	struct settings *settings = settings_get(packet->generation);

	return settings && settings->excepts && is_excepted(settings, source) &&
	       untranslated(ctx, source, destination) == REASON_INSIDE_TO_INSIDE;
}

/*
 * Whether to hold a fragment whose packet is not known: from outside only one for an address of ours, or without NAT for a
 * host's own, from who had a session lately.
 */
static __always_inline bool later_is_held(ctx_t *ctx, const struct packet *packet, enum side side, bool ours)
{
	__u32 source = packet->tuple.source;

	if (packet->link_broadcast || packet->ttl <= 1)
		return false;
	if (side == SIDE_PUBLIC) /* and who had none does not come here: public_side.h */
		return (ours || later_is_own(ctx, packet)) && !bpf_map_lookup_elem(&address_table, &source) &&
		       !source_is_banned(packet);
	return !source_is_spoofed(ctx, packet, SIDE_PRIVATE);
}

/* No first fragment of its packet is known. On an address that the gateway shares it is held, and the kernel gets it, too. */
static __always_inline enum hold later_hold(ctx_t *ctx, struct packet *packet, enum side side, enum reason *reason)
{
	__u32 destination = packet->tuple.destination, source = packet->tuple.source;
	enum fragment_side from = side == SIDE_PRIVATE ? FRAGMENT_OUT : FRAGMENT_IN;
	bool ours = bpf_map_lookup_elem(&address_table, &destination) != 0;
	__u64 tag = fragment_tag(source, destination, packet->identification, packet->tuple.protocol, from);

	*reason = unparsed(ctx, packet, REASON_DROP_FRAGMENT, side);
	if (*reason != REASON_DROP_FRAGMENT && !(ours && *reason == REASON_TO_GATEWAY))
		return HOLD_NOT;
	return later_is_held(ctx, packet, side, ours) ? fragment_hold(ctx, tag, source, from) : HOLD_NOT;
}

static __always_inline int fragment_pass(ctx_t *ctx, enum fragment_side from)
{
	enum side side = from == FRAGMENT_OUT ? SIDE_PRIVATE : SIDE_PUBLIC;
	struct packet packet = {};
	enum reason reason = packet_parse(ctx, &packet);
	struct control *control = control_get();
	struct session *session = 0;
	enum hold hold;
	__u64 word;

	if (!control || reason != REASON_DROP_FRAGMENT)
		return verdict(ctx, &packet, REASON_DROP_INTERNAL, side);
	packet.generation = *(volatile __u32 *)&control->generation;
	session = later_session(&packet, packet.tuple.source, from, &word);
	if (!session && !word) {
		hold = later_hold(ctx, &packet, side, &reason);
		if (hold == HOLD_OVERTOOK)
			session = later_session(&packet, packet.tuple.source, from, &word);
		else if (hold == HOLD_DONE && reason == REASON_DROP_FRAGMENT) {
			reason_count(REASON_HELD_FRAGMENT);
			return CTX_DROP;
		}
	}
	if (session)
		return later_follow(ctx, &packet, session, word, side);
	if (word)
		return verdict(ctx, &packet,
			       context_state(word) == CONTEXT_DEAD ? REASON_DROP_BAD_FRAGMENT : REASON_DROP_FRAGMENT,
			       side);
	if (side == SIDE_PUBLIC)
		return public_unparsed(ctx, &packet, reason, true);
	return verdict(ctx, &packet, reason, side);
}

static __always_inline int fragment_side(ctx_t *ctx)
{
	struct fragment_here *here = fragment_here();

	return here ? fragment_pass(ctx, here->side) : CTX_DROP;
}
