/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * With which host a remote address has datagrams at a port of a web address: a NAT may give it another port at any time
 * (RFC 9000 section 9.3), and what it then sends names nobody. The first session of a remote address and a host owns an
 * entry of the index, and its later ones refer to it, as with filter entries (flow.h). All of them have the host's endpoint,
 * and so are under one stripe; entries of other hosts are by the same key. Nobody has to be told when a session ends, and
 * the daemon knows nothing of it.
 */
#pragma once

#include "session.h"

/* Of these entries the one of this host, or that of any other. */
struct guest {
	struct session_key key;
	__u32 host;
	__u16 port; /* the host's */
	bool other;
};

static __always_inline bool guest_matches(__u32 number, const void *wanted)
{
	const struct guest *guest = wanted;
	struct session *session = session_at(number);

	return session && session_has_key(number, &guest->key) &&
	       (session->private_address == guest->host && session->private_port == guest->port) != guest->other;
}

/* The record that owns such an entry, or 0. */
__noinline __u32 guest_owner(const struct guest *guest)
{
	if (!guest)
		return 0;
	return index_find(&session_index, session_place(&guest->key), fixed.session_bits, guest_matches, guest);
}

static __always_inline struct session_key guest_key(const struct session *s)
{
	return (struct session_key){s->external_address, s->remote_address, s->external_port, 0,
				    s->protocol,	 KEY_GUEST};
}

static __always_inline bool session_is_guest(const struct session *session)
{
	return session->origin == ORIGIN_WEB && session->protocol == IPPROTO_UDP;
}

#define GUEST_RESTS  4	/* ticks, about a second */
#define GUEST_SHAKES 40 /* ticks, about ten seconds */

/* Its client has not been heard of for a while: its port may be another connection's now, which asks for another host. */
static __always_inline bool guest_rests(const struct session *session)
{
	return session_is_guest(session) && clock_tick() - session->life.as.stamp >= GUEST_RESTS;
}

/* Whether its host may still say what it calls itself: it shakes hands, or a time has come round that is as good. */
static __always_inline bool guest_shakes(const struct session *session, __u32 tick)
{
	return (__u8)(tick - session->holds.guest.begun) < GUEST_SHAKES;
}

/* A session of the host more. Where the index is full it does without: its client cannot change its port, and no more. */
__noinline int guest_join(__u32 number, struct session *session)
{
	struct guest guest = {};
	struct session *owner;

	if (!session)
		return 0;
	guest.key = guest_key(session);
	guest.host = session->private_address;
	guest.port = session->private_port;
	session->holds.guest.owner = guest_owner(&guest);
	owner = session->holds.guest.owner ? session_at(session->holds.guest.owner) : 0;
	if (owner) {
		owner->holds.guest.guests++;
		return 1;
	}
	session->holds.guest.owner = number;
	session->holds.guest.guests = 1;
	session_mark(session, SESSION_FILTER_OWNER);
	if (index_insert(&session_index, session_place(&guest.key), number))
		return 1;
	session_unmark(session, SESSION_FILTER_OWNER);
	session->holds.guest.owner = 0;
	return 0;
}

/* One less, which rests already. The record of an owner stays until the last who leans on it has left. */
__noinline int guest_leave(__u32 number, struct session *session, __u32 tick)
{
	__u32 of = session ? session->holds.guest.owner : 0;
	struct session *owner = of ? session_at(of) : 0;
	struct session_key key;

	if (!owner || !session || !owner->holds.guest.guests)
		return 0;
	owner->holds.guest.guests--;
	if (owner->holds.guest.guests) {
		if (of == number)
			session->life.as.phase = PHASE_REFERENCED;
		return 0;
	}
	key = guest_key(owner);
	index_remove(&session_index, session_place(&key), of);
	if (of == number)
		return 0;
	owner->life.as.stamp = tick;
	owner->life.as.phase = PHASE_RESTING;
	return 1;
}
