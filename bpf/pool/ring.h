/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The places of a binding's tentative sessions, so that a flood of one binding takes no more than those of the table. Who has
 * a place keeps it for as long as it waits for its client; while none is free the binding answers by cookies, and keeps
 * nothing of whom it answers (handshake/overflow.h).
 */
#pragma once

#include "../conntrack/flow.h"
#include "../handshake/syn_cookie.h"

#define RING_LOOKS 8 /* places that are looked at for a free one: the least that a ring has */

/* A place of the ring. */
struct tentative {
	__u32 session;
	__u32 version; /* of the record's use */
};

union tentative_word {
	struct tentative tentative;
	__u64 word;
};

/* The session that was put in a place, 0 where it is none any more, or has been proved. */
static __always_inline struct session *ring_session(const __u64 *place)
{
	union tentative_word has = {.word = *(const volatile __u64 *)place};
	struct session *session = session_at(has.tentative.session);

	if (!has.tentative.session || !session || session->life.as.version != has.tentative.version ||
	    session->life.as.phase != PHASE_LIVE || !(session->marks.as.flags & SESSION_TENTATIVE))
		return 0;
	return session;
}

/* A free place of the binding's ring and 1, or 0. */
__noinline __u32 ring_find(__u32 slot)
{
	struct binding *binding = binding_at(slot);

	for (int i = 0; binding && i < RING_LOOKS; i++) {
		__u32 place = (DRY ? binding->tentative_next + i : __sync_fetch_and_add(&binding->tentative_next, 1)) &
			      (fixed.ring - 1);
		struct session *session;
		__u64 *entry;

		place += slot * fixed.ring;
		entry = bpf_map_lookup_elem(&tentative_table, &place);
		session = entry ? ring_session(entry) : 0;
		if (entry && (!session || session_is_over(session)))
			return place + 1;
	}
	return 0;
}

/* A SYN to the binding is answered by a cookie. */
static __always_inline void ring_overflow(struct binding *binding)
{
	__u32 tick = clock_tick() | 1; /* 0: never */

	if (*(volatile __u32 *)&binding->overflowed != tick)
		*(volatile __u32 *)&binding->overflowed = tick;
}

/* Whether a cookie that the binding has answered by may still be good. */
static __always_inline bool ring_has_overflowed(const struct binding *binding)
{
	__u32 last = *(volatile __u32 *)&binding->overflowed;

	return last && clock_tick() - last + 1 < 2 << SYN_COOKIE_EPOCH_SHIFT;
}
