/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tentative sessions: TCP from the pool whose client has proved nothing yet. Its SYN goes to the host and takes no claim;
 * who acknowledges a number that the host has sent has seen its answer, and claims (proof.h). One lives for
 * TENTATIVE_TICKS behind its last SYN, or SYN and ACK, in a place of its binding's ring (ring.h).
 */
#pragma once

#include "numbers.h"
#include "proof.h"
#include "ring.h"

/* Ends a session whose time is over, as its place was taken before it was swept, and no daemon may be there who does. */
__noinline int tentative_end(__u32 number, __u32 version, __u32 generation)
{
	struct settings *settings = settings_get(generation);
	struct session *session = session_at(number);
	struct stripe *stripe;

	if (!session || !settings || session->life.as.version != version)
		return 0;
	stripe = lock_stripe(endpoint_hash(session->private_address, session->private_port, session->protocol));
	if (!stripe || !lock_take(stripe))
		return 0;
	if (session->life.as.phase == PHASE_LIVE && session->life.as.version == version && session_is_over(session))
		session_end(number, session, settings, clock_tick());
	lock_release(stripe);
	return 1;
}

/*
 * Gives a new session its place; under no lock, as the one that had it may be of another endpoint. One from inside, by a
 * hairpin, may have found none: it has a place of its sender's instead.
 */
__noinline int tentative_put(const struct flow *flow, __u32 number, __u32 generation)
{
	struct session *session = session_at(number);
	union tentative_word old, new = {};
	__u32 place;
	__u64 *entry;

	if (!flow || !session || !flow->place)
		return 0;
	place = flow->place - 1;
	entry = bpf_map_lookup_elem(&tentative_table, &place);
	if (!entry)
		return 0;
	new.tentative.session = number;
	new.tentative.version = session->life.as.version;
	old.word = __sync_lock_test_and_set(entry, new.word);
	return old.tentative.session ? tentative_end(old.tentative.session, old.tentative.version, generation) : 0;
}

/* From the host: what its client may acknowledge. A host that says SYN with another number begins anew. */
static __always_inline void tentative_out(struct session *session, const struct numbers *numbers, __u8 flags,
					  __u32 tick)
{
	bool changed = false;

	if (flags & TCP_FLAG_RST)
		return;
	if ((flags & TCP_FLAG_SYN) &&
	    (session->life.as.tcp == TCP_SYN || session->holds.pool.expected != numbers->sequence + 1)) {
		session->holds.pool.expected = numbers->sequence + 1;
		session->proof.sent = numbers->end;
	} else if (session->life.as.tcp != TCP_SYN) {
		__u32 sent = *(volatile __u32 *)&session->proof.sent;

		/* Where its client proves itself at this moment the guard is there. */
		if ((__s32)(numbers->end - sent) > 0)
			__sync_val_compare_and_swap(&session->proof.sent, sent, numbers->end);
	}
	if (!(flags & TCP_FLAG_SYN))
		return;
	barrier(); /* who sees the state sees the numbers */
	session_turn(session, flags, DIRECTION_OUT, tick, &changed);
	session->life.as.stamp = tick;
}

/*
 * A packet of a tentative session: REASON_NONE when it may pass. Of what comes from outside SYNs do, RSTs, for the host
 * to judge, and what proves.
 */
__noinline enum reason tentative_pass(ctx_t *ctx, const struct packet *packet, struct session *session,
				      enum direction direction)
{
	struct numbers numbers;
	__u32 tick = clock_tick();

	if (!packet || !session)
		return REASON_DROP_INTERNAL;
	if (packet->ttl <= 1) /* it goes no further, and says nothing */
		return REASON_NONE;
	if (!numbers_read(ctx, packet, &numbers))
		return REASON_DROP_MALFORMED;
	if (direction == DIRECTION_OUT) {
		tentative_out(session, &numbers, packet->tcp_flags, tick);
		return REASON_NONE;
	}
	if (packet->tcp_flags & TCP_FLAG_RST)
		return REASON_NONE;
	if (tcp_is_pure_syn(packet->tcp_flags)) {
		session->life.as.stamp = tick;
		return REASON_NONE;
	}
	if (!tentative_proves(session, &numbers, packet->tcp_flags))
		return REASON_DROP_CLAIM_UNPROVED;
	return proof_tcp(session, packet->generation, packet->sequence);
}
