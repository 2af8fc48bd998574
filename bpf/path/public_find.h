/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packets from outside: which session one is of, and where it would open one.
 */
#pragma once

#include "chain.h"
#include "../nat/own.h"
#include "../pool/binding.h"

/*
 * The key by which the session of a packet to one of our addresses is sought; REASON_NONE, or why there can
 * be none. *slot is the mapping, 0 for other addresses.
 */
static __always_inline enum reason public_key(const struct tuple *tuple, const struct address *address,
					      __u32 generation, struct session_key *key, __u32 *slot)
{
	struct endpoint endpoint;

	key->remote = tuple->source;
	key->remote_port = tuple->source_port;
	key->protocol = tuple->protocol;
	*slot = 0;
	if (address->kind == ADDRESS_OWN) {
		key->local = own_address_of(tuple->destination, generation);
		key->local_port = tuple->destination_port;
		key->side = KEY_INSIDE;
		trace_step(TRACE_HOST, 0, key->local, key->local_port, 0);
		return key->local ? REASON_NONE : REASON_DROP_NO_MAPPING;
	}
	if (address->kind != ADDRESS_OUTBOUND) {
		key->local = tuple->destination;
		key->local_port = tuple->destination_port;
		key->side = KEY_OUTSIDE;
		return REASON_NONE;
	}
	if (is_basic(tuple->protocol)) /* by its outside tuple alone: outside_find */
		return REASON_DROP_NO_SESSION;
	*slot = mapping_slot(address->number, tuple->protocol, tuple->destination_port);
	key->side = KEY_INSIDE;
	endpoint = mapping_at(*slot);
	key->local = endpoint.address;
	key->local_port = endpoint.port;
	trace_step(TRACE_MAPPING, endpoint.phase == PHASE_LIVE, endpoint.address, endpoint.port, 0);
	return endpoint.phase == PHASE_LIVE ? REASON_NONE : REASON_DROP_NO_MAPPING;
}

/*
 * The session of a packet to an outbound address: number is its mapping's, but a chain or a binding may have opened it, or a
 * host without a mapping.
 */
__noinline __u32 outside_find(const struct tuple *tuple, __u32 number)
{
	struct session *session = session_at(number);
	struct session_key key;

	if (!tuple)
		return 0;
	if (number && session && session_is_of(session, tuple))
		return number;
	key = destination_key(tuple, KEY_OUTSIDE);
	return session_find_indexed(&key);
}

/* The session of a tuple to one of our addresses, or 0; *reason: why it can open none by a name or a mapping. */
static __always_inline __u32 address_find(const struct tuple *tuple, const struct address *address,
					  const struct control *control, __u32 generation, struct session_key *key,
					  __u32 *slot, enum reason *reason)
{
	__u32 number = 0;

	*reason = public_key(tuple, address, generation, key, slot);
	if (*reason == REASON_NONE)
		number = session_find(key);
	return (control->excluded_ports || address->lends || is_basic(tuple->protocol)) &&
			       address->kind == ADDRESS_OUTBOUND
		       ? outside_find(tuple, number)
		       : number;
}

/* A session stands where the new one would: is it ending, so that a pure SYN may take its place (I8)? */
static __always_inline bool session_gives_way(const struct session *session, const struct packet *packet)
{
	return packet->tuple.protocol == IPPROTO_TCP &&
	       (tcp_is_closing(session->life.as.tcp) || session_is_over(session));
}

/* From the pool, and its binding is none any more. */
static __always_inline bool session_is_left_over(const struct session *session)
{
	struct binding *binding = session_is_lent(session->origin) ? binding_at(session_binding(session)) : 0;

	return binding && !*(volatile __u32 *)&binding->open;
}

/* Where a packet from outside comes to. */
struct target {
	struct address *address; /* 0: none of ours */
	struct session_key key;	 /* of its session; side 0: it was not asked for */
	__u32 slot;		 /* of the mapping that it comes to, 0 for none */
	enum reason reason;	 /* why it can open nothing by a name or a mapping */
};

/*
 * A closing session without a mapping is over for who would open it again: a binding or a chain does. So is one that
 * its binding has left behind: who says SYN was given the address for whoever has it now (I9).
 */
static __always_inline bool public_is_over(const struct session *session, const struct packet *packet)
{
	return !session_is_of(session, &packet->tuple) || session_is_over(session) ||
	       (tcp_is_pure_syn(packet->tcp_flags) && !session_has_mapping(session->origin) &&
		(session_gives_way(session, packet) || session_is_left_over(session)));
}

/* The open session of the packet, 0 where it has none; where it comes to. */
static __always_inline struct session *public_find(struct packet *packet, const struct control *control,
						   struct target *target)
{
	struct address *address = bpf_map_lookup_elem(&address_table, &packet->tuple.destination);
	struct session *session;
	__u32 number = 0;

	target->address = address;
	/*
	 * Fast path: a session in its own bucket needs no mapping lookup. Safe: a freed record is not reused before a
	 * grace period.
	 */
	if (address && address->kind == ADDRESS_OUTBOUND)
		number = session_find_kept(&packet->tuple, address->group);
	if (!address)
		number = own_find(&packet->tuple, packet->generation);
	else if (!number)
		number = address_find(&packet->tuple, address, control, packet->generation, &target->key, &target->slot,
				      &target->reason);
	session = session_entered(dry_found(packet, &number));
	if (number && (!session || public_is_over(session, packet)))
		number = 0;
	trace_step(TRACE_FIND, number != 0, 0, 0, number);
	return number ? session : 0;
}

/* Between two hosts inside, and its packet comes from outside. */
static __always_inline bool public_is_forged(const struct session *session, const struct packet *packet)
{
	return (session->marks.as.flags & SESSION_HAIRPIN) && !packet->hairpin;
}
