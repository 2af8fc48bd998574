/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a client of the pool gets for having proved itself: its session stands, by a claim, or because it is known; and it
 * is known from then on. TCP proves by acknowledging what the host has sent (tentative.h), other protocols, which claim
 * with their first packet, by coming again when the host has answered.
 */
#pragma once

#include "../conntrack/flow.h"
#include "queue.h"

/* Under the client's lock: of several sessions of a client that are proved at once, one claims for all. */
__noinline enum reason proof_admit(struct session *session, struct claimer *who, const struct settings *settings)
{
	enum known_answer answer;

	if (!session || !who || !settings)
		return REASON_DROP_INTERNAL;
	answer = known_join(who->client, who->number, session->protocol, settings->client_sessions);
	if (answer == KNOWN_LIMIT)
		return REASON_DROP_CLIENT_LIMIT;
	if (answer == KNOWN_JOINED)
		claim_own(who);
	if (answer == KNOWN_NOT) {
		if (!claim_take(who))
			return REASON_DROP_CLAIM_LOST;
		if (who->name && session->origin == ORIGIN_POOL)
			session->holds.pool.service = who->name;
		if (!known_add(who->client, who->number, session->protocol))
			return REASON_NONE;
	}
	session_mark(session, SESSION_KNOWN);
	return REASON_NONE;
}

/* Under the session's stripe. sequence: the upper half of the proving segment's number, in network byte order. */
__noinline enum reason proof_settle(struct session *session, const struct settings *settings, __u16 sequence)
{
	struct binding *binding = session ? binding_at(session_binding(session)) : 0;
	struct claimer who = {};
	struct stripe *stripe;
	enum reason reason;

	if (!session || !binding || !settings)
		return REASON_DROP_INTERNAL;
	if (!*(volatile __u32 *)&binding->open)
		return REASON_DROP_CLAIM_LOST;
	who.at = (__u64)session->opened << TICK_SHIFT; /* when its SYN came */
	who.binding = session_binding(session);
	who.number = binding->number;
	who.client = session->remote_address;
	if (*(volatile __u32 *)&binding->sessions >= settings->limits.binding_sessions)
		return REASON_DROP_BINDING_SESSIONS;
	reason = session->marks.as.flags & SESSION_HAIRPIN ? REASON_NONE
							   : remote_judge(who.client, settings, clock_tick());
	if (reason != REASON_NONE)
		return reason;
	stripe = lock_client(known_hash(who.client, who.number));
	if (!stripe || !lock_take(stripe))
		return REASON_DROP_BUSY;
	reason = proof_admit(session, &who, settings);
	lock_release(stripe);
	if (reason != REASON_NONE)
		return reason;
	standing_count(binding, 1);
	if (!(session->marks.as.flags & SESSION_HAIRPIN) && remote_join(who.client, clock_tick()))
		session_mark(session, SESSION_COUNTED);
	if (session->origin == ORIGIN_COOKIE) {
		session_mark(session, SESSION_SETTLED);
		return REASON_NONE;
	}
	/* In place of what was to be proved: the flag is taken away with a full barrier. */
	session->proof.guard = (struct guard){.out = bpf_htons(session->proof.sent >> 16), .in = sequence};
	session_unmark(session, SESSION_TENTATIVE);
	return REASON_NONE;
}

/* Whether for this reason the client of a tentative session gets none. */
static __always_inline bool proof_is_lost(enum reason reason)
{
	return reason == REASON_DROP_CLAIM_LOST || reason == REASON_DROP_CLIENT_LIMIT ||
	       reason == REASON_DROP_BINDING_SESSIONS || reason == REASON_DROP_REMOTE_SESSIONS ||
	       reason == REASON_DROP_REMOTE_RATE;
}

/* A session that has lost is over, for its host, too: its next SYN and ACK finds none. */
static __always_inline void proof_fail(struct session *session, const struct settings *settings)
{
	struct session_key key = session_inside_key(session);
	__u32 number = session_find(&key);

	if (session_at(number) == session)
		session_end(number, session, settings, clock_tick());
}

/* The client of a tentative session has acknowledged what its host has sent, or our cookie. */
__noinline enum reason proof_tcp(struct session *session, __u32 generation, __u16 sequence)
{
	struct settings *settings = settings_get(generation);
	struct stripe *stripe;
	enum reason reason = REASON_NONE;

	if (!session || !settings)
		return REASON_DROP_INTERNAL;
	stripe = lock_stripe(endpoint_hash(session->private_address, session->private_port, session->protocol));
	if (!stripe || !lock_take(stripe))
		return REASON_DROP_BUSY;
	if (session->life.as.phase != PHASE_LIVE)
		reason = REASON_DROP_NOT_SYN;
	else if (session_is_unproved(session))
		reason = proof_settle(session, settings, sequence);
	if (proof_is_lost(reason))
		proof_fail(session, settings);
	lock_release(stripe);
	return reason;
}

/* Whether a client of another protocol is known now; without a place for it, or beyond its limit, it is not. */
static __always_inline bool proof_acquaint(const struct session *session, const struct settings *settings)
{
	struct binding *binding = binding_at(session->holds.pool.binding);
	enum known_answer answer;
	struct stripe *stripe;
	bool known;

	if (!binding || !*(volatile __u32 *)&binding->open)
		return false;
	stripe = lock_client(known_hash(session->remote_address, binding->number));
	if (!stripe || !lock_take(stripe))
		return false;
	answer = known_join(session->remote_address, binding->number, session->protocol, settings->client_sessions);
	known = answer == KNOWN_JOINED ||
		(answer == KNOWN_NOT && known_add(session->remote_address, binding->number, session->protocol));
	lock_release(stripe);
	return known;
}

/* The client of another protocol's session has come again, and its host has answered. */
__noinline int proof_answered(struct session *session, __u32 generation)
{
	struct settings *settings = settings_get(generation);
	struct stripe *stripe;

	if (!session || !settings)
		return 0;
	stripe = lock_stripe(endpoint_hash(session->private_address, session->private_port, session->protocol));
	if (!stripe || !lock_take(stripe))
		return 0; /* the next packet is as good */
	if (session->life.as.phase == PHASE_LIVE && !(session->marks.as.flags & SESSION_SETTLED))
		session_mark(session,
			     proof_acquaint(session, settings) ? SESSION_SETTLED | SESSION_KNOWN : SESSION_SETTLED);
	lock_release(stripe);
	return 1;
}
