/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a client sends before its host has answered waits with the daemon, which sends it again then. What comes behind
 * it must not overtake it: a client takes that for reordering, and is slower from then on to send again what is lost (RFC
 * 8985 section 6.2). So until the daemon has forgotten the connection only the client's next octets pass, and what is ahead
 * of them goes to the daemon as well. Where the daemon cannot hear of it, it passes: order is worth less than octets.
 */
#pragma once

#include "../path/forward.h"
#include "report.h"

#define ORDER_TICKS (TENTATIVE_TICKS + 2) /* from its SYN: then there is no daemon, and whatever comes passes */

/* From now on all passes. */
static __always_inline void order_end(struct session *session)
{
	union life old, new;

	for (int tries = 0; tries < 4; tries++) {
		old.word = *(volatile __u64 *)&session->life.word;
		if (old.as.tcp != TCP_ORDERED)
			return;
		new.word = old.word;
		new.as.tcp = TCP_ESTABLISHED;
		if (__sync_val_compare_and_swap(&session->life.word, old.word, new.word) == old.word)
			return;
	}
}

/* The session that stands at the packet's tuple, 0 where there is none. */
__noinline __u32 handshake_standing(const struct packet *packet)
{
	struct session_key key;

	if (!packet)
		return 0;
	key = destination_key(&packet->tuple, KEY_OUTSIDE);
	return session_find_indexed(&key);
}

/* The same, if it is by name. */
static __always_inline __u32 web_standing(const struct packet *packet)
{
	__u32 number = handshake_standing(packet);
	struct session *session = number ? session_at(number) : 0;

	return session && session->origin == ORIGIN_WEB ? number : 0;
}

/* Whether the client's packet, of a session that keeps order, passes now. */
__noinline bool order_is_next(ctx_t *ctx, const struct packet *packet, struct session *session)
{
	struct web_answer *answer;
	struct numbers numbers;
	struct web_key key;

	if (!packet || !session)
		return false;
	if (session->life.as.tcp != TCP_ORDERED)
		return true;
	key = web_key_of(&packet->tuple);
	answer = bpf_map_lookup_elem(&web_answers, &key);
	/* Without an answer, or with that of the next connection by its ports; of a fragment the end is not known. */
	if (!answer || !answer->host || packet->fragment || clock_tick() - session->opened > ORDER_TICKS) {
		order_end(session);
		return true;
	}
	if ((packet->tcp_flags & (TCP_FLAG_RST | TCP_FLAG_SYN)) || !numbers_read(ctx, packet, &numbers) ||
	    numbers.end == numbers.sequence)
		return true;
	if ((__s32)(numbers.sequence - answer->next) > 0)
		return false;
	if ((__s32)(numbers.end - answer->next) > 0 && !ctx_defers_next(ctx, &key, answer->begun, numbers.end))
		answer->next = numbers.end;
	return true;
}

/* The open session that the packet is of. It may have kept order until a moment ago. */
static __always_inline struct session *order_find(const struct packet *packet)
{
	__u32 number = web_standing(packet);
	struct session *session = number ? session_at(number) : 0;

	return session && !(session->marks.as.flags & SESSION_TENTATIVE) && !tcp_is_closing(session->life.as.tcp)
		       ? session
		       : 0;
}

/* Sends it on as one of any session. */
static __always_inline int order_pass(ctx_t *ctx, struct packet *packet, struct session *session, __u16 epoch)
{
	enum reason reason = forward_judge(ctx, packet, session, DIRECTION_IN);

	if (reason != REASON_NONE)
		return verdict(ctx, packet, reason, SIDE_PUBLIC);
	return forward(ctx, packet, session, DIRECTION_IN, epoch);
}
