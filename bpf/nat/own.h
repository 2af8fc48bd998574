/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Flows that keep their port, by an address that is a host's own outside: its private one, to destinations without NAT (RFC
 * 6888 REQ-6), or a public one that nobody else has (1:1). The outside tuple tells the inside one, so that an answer is
 * found where a packet from inside would be, without an index entry.
 */
#pragma once

#include "except.h"
#include "../conntrack/session.h"

/* The public address of a private one, or the private one of that; 0 for none. */
__noinline __u32 own_address_of(__u32 address, __u32 generation)
{
	struct owner key = {.address = address, .turn = generation & 1};
	__u32 *other = bpf_map_lookup_elem(&owner_table, &key);

	return other ? *other : 0;
}

/* The address by which a flow leaves that keeps its port, 0: by a mapping. */
static __always_inline __u32 own_outside(const struct tuple *tuple, bool hairpin, __u32 generation)
{
	struct settings *settings = settings_get(generation);

	if (!settings)
		return 0;
	if (settings->excepts && !hairpin && is_excepted(settings, tuple->destination))
		return tuple->source;
	return settings->owners ? own_address_of(tuple->source, generation) : 0;
}

/* A session that would not be opened like this in this generation. */
static __always_inline bool own_is_void(const struct session *session, __u32 generation)
{
	if (session->origin != ORIGIN_OWN && session->origin != ORIGIN_OWN_IN)
		return false;
	if (session->external_address == session->private_address)
		return !is_excepted(settings_get(generation), session->remote_address);
	return own_address_of(session->private_address, generation) != session->external_address;
}

/* The session of a packet from outside to an address that is not ours, or 0. */
__noinline __u32 own_find(const struct tuple *tuple, __u32 generation)
{
	struct settings *settings = settings_get(generation);
	struct session_key key;
	struct session *session;
	__u32 number;

	if (!tuple || !settings || !settings->excepts || !is_excepted(settings, tuple->source))
		return 0;
	key = destination_key(tuple, KEY_INSIDE);
	number = session_find(&key);
	session = session_at(number);
	return number && session && session->origin == ORIGIN_OWN ? number : 0;
}
