/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a host says to the SYN of a connection by name. Its SYN and ACK opens the session, with the differences to what the
 * client was promised, and becomes our ACK, each time that it comes. That echoes no timestamp, and the daemon sends the SYN twice
 * where the client is far (Karn): so the host takes no sample of the round trip from this handshake, which is not its client's.
 */
#pragma once

#include "host_refuse.h"

/* The session is open from now on, under its lock. numbers, offer: the host's. */
static __always_inline void host_open(struct session *session, const struct numbers *numbers, const struct offer *offer)
{
	__u32 tick = clock_tick(), begun = session->holds.offered.begun;
	union life old, new;

	session->holds.web.difference = session->holds.offered.number - numbers->sequence;
	session->holds.web.clock = offer->timestamps ? handshake_clock() - offer->value : 0;
	session->holds.web.host_scale = offer->scale;
	session->proof.guard =
		(struct guard){.out = bpf_htons((numbers->sequence + 1) >> 16), .in = bpf_htons((begun + 1) >> 16)};
	for (int tries = 0; tries < 4; tries++) {
		old.word = *(volatile __u64 *)&session->life.word;
		new.word = old.word;
		new.as.tcp = session->origin == ORIGIN_WEB ? TCP_ORDERED : TCP_ESTABLISHED;
		new.as.stamp = tick;
		if (__sync_val_compare_and_swap(&session->life.word, old.word, new.word) == old.word)
			break;
	}
	/* With a full barrier: who sees it open sees its differences. */
	session_unmark(session, SESSION_TENTATIVE);
}

/* Makes of what the host said our answer, back to it. what: its flags and window. */
__noinline bool host_answer(ctx_t *ctx, const struct packet *packet, const struct numbers *numbers,
			    const struct offer *said, struct handshake *what)
{
	struct offer offer = {};

	if (!packet || !numbers || !said || !what)
		return false;
	what->sequence = numbers->acknowledges;
	what->acknowledges = numbers->sequence + 1;
	what->partial = sum_stays(packet->sum, true);
	what->back = true;
	offer.timestamps = said->timestamps;
	offer.value = said->echo;
	return handshake_write(ctx, packet, what, &offer);
}

/* 64 KiB, as the host reads it: by its client's scale where it has one itself (RFC 7323 section 2.2). */
static __always_inline __u16 host_window(__u8 scale, const struct offer *said)
{
	return 0xffff >> (scale == HANDSHAKE_NONE || said->scale == HANDSHAKE_NONE ? 0 : scale);
}

/* Whether a host takes shorter segments than the clients of its binding were promised; they are promised no more from now on. */
static __always_inline bool host_is_short(const struct session *session, const struct offer *offer)
{
	struct binding *binding = binding_at(session_binding(session));

	if (!binding || offer->mss >= (binding->mss ? binding->mss : OVERFLOW_MSS))
		return false;
	binding->mss = offer->mss;
	return true;
}

/* Whether a host can less than its client was promised. */
static __always_inline bool host_is_weak(const struct session *session, const struct offer *offer)
{
	__u32 external = session->external_address;
	struct address *address = bpf_map_lookup_elem(&address_table, &external);

	if (session->origin == ORIGIN_COOKIE)
		return host_is_short(session, offer);
	return (session->holds.offered.timestamps && !offer->timestamps) || (address && offer->mss < address->mss);
}

/* What a host can, enum web_promise, as far as that was asked: about what its client did not offer it says nothing. */
static __always_inline __u16 host_can(const struct session *session, const struct offer *said)
{
	struct offer offered;

	syn_cookie_offer(session->holds.offered.number, &offered);
	return (said->sack || !offered.sack ? WEB_PROMISES_SACK : 0) |
	       (said->timestamps || !session->holds.offered.timestamps ? WEB_PROMISES_TIMESTAMPS : 0);
}

/*
 * Locks a session that still waits for its host, 0 where another CPU has settled it. What was offered and what differs share
 * words, so that nothing else tells one from the other for sure.
 */
static __always_inline struct stripe *host_lock(const struct session *session)
{
	struct stripe *stripe =
		lock_stripe(endpoint_hash(session->private_address, session->private_port, session->protocol));

	if (!stripe || !lock_take(stripe))
		return 0; /* its host sends again */
	if (session->life.as.phase == PHASE_LIVE && session_waits(session))
		return stripe;
	lock_release(stripe);
	return 0;
}

/* Opens a session by its host's SYN and ACK: WEB_OPENED, WEB_WEAK, or 0 where it does not wait for that any more. */
__noinline int host_settle(struct session *session, const struct numbers *numbers, const struct offer *offer)
{
	struct stripe *stripe = session && numbers && offer ? host_lock(session) : 0;
	__u16 kind;

	if (!stripe)
		return 0;
	if (numbers->acknowledges != session->holds.offered.begun + 1) {
		kind = 0; /* its client has begun anew */
	} else if (host_is_weak(session, offer)) {
		kind = WEB_WEAK;
		session->holds.offered.begun = numbers->acknowledges; /* nothing else opens it until it has ended */
	} else {
		kind = WEB_OPENED;
		host_open(session, numbers, offer);
	}
	lock_release(stripe);
	return kind;
}

/* Our ACK again. */
static __always_inline int host_answer_again(ctx_t *ctx, const struct packet *packet, struct session *session,
					     const struct numbers *numbers)
{
	struct handshake what = {.flags = TCP_FLAG_ACK};
	struct offer offer;

	if (!(packet->tcp_flags & TCP_FLAG_ACK) || !session_differs(session) || !host_repeats(session, packet))
		return verdict(ctx, packet, REASON_DROP_BUSY, SIDE_PRIVATE); /* it has just opened, or ended */
	if (!offer_read(ctx, packet, &offer))
		return verdict(ctx, packet, REASON_DROP_MALFORMED, SIDE_PRIVATE);
	what.window = host_window(session->holds.web.client_scale, &offer);
	if (!host_answer(ctx, packet, numbers, &offer, &what))
		return verdict(ctx, packet, REASON_DROP_INTERNAL, SIDE_PRIVATE);
	reason_count(REASON_ANSWERED_HOST);
	return ctx_redirect(ctx, ctx_ifindex(ctx));
}

static __always_inline int host_accept(ctx_t *ctx, struct packet *packet, struct session *session,
				       const struct numbers *numbers)
{
	struct web_event told = host_told(session, WEB_OPENED, REASON_NONE);
	struct handshake what = {.flags = TCP_FLAG_ACK};
	__u8 scale = session->holds.offered.client_scale;
	struct offer offer;
	__u16 can;
	bool weak;

	if (!offer_read(ctx, packet, &offer))
		return verdict(ctx, packet, REASON_DROP_MALFORMED, SIDE_PRIVATE);
	can = host_can(session, &offer);
	told.kind = host_settle(session, numbers, &offer);
	if (!told.kind)
		return verdict(ctx, packet, REASON_DROP_BUSY, SIDE_PRIVATE);
	weak = told.kind == WEB_WEAK;
	if (weak) {
		told.reason = REASON_DROP_HOST_OPTIONS;
		told.mss = offer.mss;
		told.promises = can;
		web_session_end(session, packet->generation);
		reason_count(REASON_DROP_HOST_OPTIONS);
		drop_sample(ctx, packet, REASON_DROP_HOST_OPTIONS, SIDE_PRIVATE);
	}
	if (session->origin == ORIGIN_WEB)
		web_report(ctx, &told);
	what.window = host_window(scale, &offer);
	if (weak)
		what.flags |= TCP_FLAG_RST;
	if (!host_answer(ctx, packet, numbers, &offer, &what))
		return verdict(ctx, packet, REASON_DROP_INTERNAL, SIDE_PRIVATE);
	if (!weak)
		reason_count(REASON_ANSWERED_HOST);
	return ctx_redirect(ctx, ctx_ifindex(ctx));
}

/* Whether a session waits for something else than what its host says. */
__noinline bool host_is_behind(const struct session *session, const struct numbers *numbers)
{
	struct stripe *stripe = session && numbers ? host_lock(session) : 0;
	bool behind;

	if (!stripe)
		return false;
	behind = numbers->acknowledges != session->holds.offered.begun + 1;
	lock_release(stripe);
	return behind;
}

/*
 * What answers another SYN than ours. An ACK alone is of a connection that only its host still has: it hears what TCP in
 * SYN-SENT would say (RFC 9293 section 3.10.7.3), and takes our next SYN.
 */
static __always_inline int host_differs(ctx_t *ctx, const struct packet *packet, const struct session *session,
					const struct numbers *numbers)
{
	if ((packet->tcp_flags & (TCP_FLAG_SYN | TCP_FLAG_RST | TCP_FLAG_ACK)) == TCP_FLAG_ACK &&
	    host_is_behind(session, numbers))
		return refuse_stranger(ctx, packet, REASON_DROP_NOT_SYN, SIDE_PRIVATE);
	return verdict(ctx, packet, REASON_DROP_NOT_SYN, SIDE_PRIVATE);
}

/* Entered by tail call, with a packet of a session whose host has not answered yet, or answers again. */
static __always_inline int host_side(ctx_t *ctx)
{
	struct packet packet = {};
	enum reason reason = packet_parse(ctx, &packet);
	struct control *control = control_get();
	struct session_key wanted;
	struct session *session;
	struct numbers numbers;

	if (!control || reason != REASON_NONE || packet.kind > PACKET_ICMP_ERROR)
		return verdict(ctx, &packet, reason == REASON_NONE ? REASON_DROP_INTERNAL : reason, SIDE_PRIVATE);
	packet.generation = *(volatile __u32 *)&control->generation;
	if (packet.kind == PACKET_ICMP_ERROR)
		return host_error(ctx, &packet, control->route_epoch);
	wanted = source_key(&packet.tuple);
	session = session_at(session_find(&wanted));
	if (!session || !numbers_read(ctx, &packet, &numbers))
		return verdict(ctx, &packet, REASON_DROP_BUSY, SIDE_PRIVATE); /* it has just ended */
	if (!session_waits(session))
		return host_answer_again(ctx, &packet, session, &numbers);
	if (numbers.acknowledges != session->holds.offered.begun + 1 || !(packet.tcp_flags & TCP_FLAG_ACK))
		return host_differs(ctx, &packet, session, &numbers);
	if (packet.tcp_flags & TCP_FLAG_RST)
		return host_refuses(ctx, &packet, session, control->route_epoch);
	if (!(packet.tcp_flags & TCP_FLAG_SYN))
		return verdict(ctx, &packet, REASON_DROP_NOT_SYN, SIDE_PRIVATE);
	return host_accept(ctx, &packet, session, &numbers);
}
