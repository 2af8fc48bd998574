/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Flows from inside that keep their address and port: those to destinations without NAT (RFC 6888 REQ-6). Inside tuple and
 * outside tuple are the same, so that an answer is found where a packet from inside would be, without an index entry.
 */
#pragma once

#include "except.h"
#include "session.h"

/* A session that would not be opened like this by these settings. */
static __always_inline bool own_is_void(const struct session *session, const struct settings *settings)
{
	return session->origin == ORIGIN_OWN && !is_excepted(settings, session->remote_address);
}

/* The session of a packet from outside to an address that is not ours, or 0. */
__noinline __u32 own_find(const struct tuple *tuple, __u32 generation)
{
	struct settings *settings = settings_get(generation);
	struct session_key key = {};
	struct session *session;
	__u32 number;

	if (!tuple || !settings || !settings->excepts || !is_excepted(settings, tuple->source))
		return 0;
	key.local = tuple->destination;
	key.local_port = tuple->destination_port;
	key.remote = tuple->source;
	key.remote_port = tuple->source_port;
	key.protocol = tuple->protocol;
	key.side = KEY_INSIDE;
	number = session_find(&key);
	session = session_at(number);
	return number && session && session->origin == ORIGIN_OWN ? number : 0;
}
