/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which sessions from the pool stand: those that were proved and have not ended. They count with their binding, whose
 * place nobody else gets as long as there is a better one, and among their known client's; a TCP session that both sides
 * have finished or one has reset does not, though its record stays for its time.
 */
#pragma once

#include "binding.h"
#include "known.h"
#include "limit.h"
#include "session.h"

static __always_inline bool session_stands(const struct session *session)
{
	return !(session->flags & SESSION_TENTATIVE) &&
	       (session->protocol != IPPROTO_TCP || !tcp_is_closing(session->life.tcp));
}

static __always_inline void standing_count(struct binding *binding, int change)
{
	__sync_fetch_and_add(&binding->sessions, change);
	*(volatile __u32 *)&binding->stamp = clock_tick();
}

static __always_inline void standing_leave(struct session *session, struct binding *binding)
{
	standing_count(binding, -1);
	if (session->flags & SESSION_KNOWN)
		known_leave(session->remote_address, binding->number, session->protocol);
}

/* It has ended, though its record stays. From outside. */
__noinline int standing_close(struct session *session)
{
	struct binding *binding;

	if (!session)
		return 0;
	binding = session->origin == ORIGIN_POOL ? binding_at(session->holds.pool.binding) : 0;
	if (binding)
		standing_leave(session, binding);
	if (session->flags & SESSION_COUNTED)
		remote_leave(session->remote_address);
	return 1;
}

/* It had ended, and is open again. */
__noinline int standing_return(struct session *session)
{
	struct binding *binding;

	if (!session)
		return 0;
	if ((session->flags & SESSION_COUNTED) && !remote_join(session->remote_address, clock_tick()))
		session_unmark(session, SESSION_COUNTED);
	binding = session->origin == ORIGIN_POOL ? binding_at(session->holds.pool.binding) : 0;
	if (!binding)
		return 0;
	standing_count(binding, 1);
	if ((session->flags & SESSION_KNOWN) &&
	    known_join(session->remote_address, binding->number, session->protocol, 0xffff) != KNOWN_JOINED)
		session_unmark(session, SESSION_KNOWN);
	return 1;
}
