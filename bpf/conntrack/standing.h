/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which sessions from the pool stand: those that were proved and have not ended. They count with their binding, whose
 * place nobody else gets as long as there is a better one, and among their known client's; a TCP session that both sides
 * have finished or one has reset does not, though its record stays for its time.
 */
#pragma once

#include "../pool/binding.h"
#include "../pool/known.h"
#include "limit.h"
#include "session.h"

/* Whether its client has proved nothing yet: by a cookie it has, before its host answers. */
static __always_inline bool session_is_unproved(const struct session *session)
{
	__u8 flags = session->marks.as.flags;

	return (flags & SESSION_TENTATIVE) && !(session->origin == ORIGIN_COOKIE && (flags & SESSION_SETTLED));
}

static __always_inline bool session_stands(const struct session *session)
{
	return !session_is_unproved(session) &&
	       (session->protocol != IPPROTO_TCP || !tcp_is_closing(session->life.as.tcp));
}

static __always_inline void standing_count(struct binding *binding, int change)
{
	if (DRY)
		return;
	__sync_fetch_and_add(&binding->sessions, change);
	*(volatile __u32 *)&binding->stamp = clock_tick();
}

static __always_inline void standing_leave(struct session *session, struct binding *binding)
{
	standing_count(binding, -1);
	if (session->marks.as.flags & SESSION_KNOWN)
		known_leave(session->remote_address, binding->number, session->protocol);
}

/* It has ended, though its record stays. From outside. */
__noinline int standing_close(struct session *session)
{
	struct binding *binding;

	if (!session)
		return 0;
	binding = session_is_lent(session->origin) ? binding_at(session_binding(session)) : 0;
	if (binding)
		standing_leave(session, binding);
	if (session_take_mark(session, SESSION_COUNTED))
		remote_leave(session->remote_address);
	return 1;
}

/* Counts it with its remote address from now on. Whoever takes the mark away leaves: it may have closed or ended meanwhile. */
static __always_inline void standing_join(struct session *session)
{
	if ((session->marks.as.flags & (SESSION_HAIRPIN | SESSION_COUNTED)) ||
	    !remote_join(session->remote_address, clock_tick()))
		return;
	session_mark(session, SESSION_COUNTED);
	if ((!session_stands(session) || session->life.as.phase != PHASE_LIVE) &&
	    session_take_mark(session, SESSION_COUNTED))
		remote_leave(session->remote_address);
}

/* Its host has answered for the first time; no TCP. */
__noinline int standing_answer(struct session *session, __u32 generation)
{
	if (!session)
		return 0;
	if (session_is_led(session->origin) && !led_may_stand(session, generation))
		return 0; /* it stays unanswered, and so short */
	session_mark(session, SESSION_ANSWERED);
	if (session_is_led(session->origin))
		standing_join(session);
	return 1;
}

/* It had ended, and is open again, or is led and was proved. */
__noinline int standing_return(struct session *session)
{
	struct binding *binding;

	if (!session)
		return 0;
	if (!session_is_led(session->origin) || session->life.as.tcp > TCP_SYN_BOTH)
		standing_join(session);
	binding = session_is_lent(session->origin) ? binding_at(session_binding(session)) : 0;
	if (!binding)
		return 0;
	standing_count(binding, 1);
	if ((session->marks.as.flags & SESSION_KNOWN) &&
	    known_join(session->remote_address, binding->number, session->protocol, 0xffff) != KNOWN_JOINED)
		session_unmark(session, SESSION_KNOWN);
	return 1;
}
