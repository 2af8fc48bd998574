/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sessions: finding them, and noting their packets. A packet of an open session reads the records in its bucket, or a
 * bucket or two of the index and one record, without a lock. Opening and ending happen under the stripe of the
 * private endpoint. A record that ended rests before it is used again, so whoever found it just before still reads
 * its own flow.
 */
#pragma once

#include "../include/clock.h"
#include "../trace/tell.h"
#include "sequence.h"
#include "record_bucket.h"
#include "limit.h"
#include "lock.h"

/* By its source, as a host inside sends it. */
static __always_inline struct session_key source_key(const struct tuple *tuple)
{
	return (struct session_key){tuple->source,	     tuple->destination, tuple->source_port,
				    tuple->destination_port, tuple->protocol,	 KEY_INSIDE};
}

/* By its destination: of the host that it is for, or where it is known outside. */
static __always_inline struct session_key destination_key(const struct tuple *tuple, enum key_side side)
{
	return (struct session_key){tuple->destination, tuple->source,	 tuple->destination_port,
				    tuple->source_port, tuple->protocol, side};
}

static __always_inline __u64 session_hash(const struct session_key *key)
{
	return hash_words((__u64)key->local << 32 | key->remote, (__u64)key->local_port << 32 |
									 (__u32)key->remote_port << 16 |
									 key->protocol << 8 | key->side);
}

static __always_inline struct place session_place(const struct session_key *key)
{
	return index_place(session_hash(key), fixed.session_buckets, fixed.session_bits);
}

/* Whether an entry of the index that is any remote port's is by its record, though it may have ended itself. */
static __always_inline bool session_owns(const struct session *session)
{
	return (session->marks.as.flags & SESSION_FILTER_OWNER) && session->life.as.phase != PHASE_FREE &&
	       session->life.as.phase != PHASE_RESTING;
}

static __always_inline bool session_matches(__u32 number, const void *wanted)
{
	const struct session_key *key = wanted;
	struct session *session = session_at(number);

	if (!session || session->remote_address != key->remote || session->protocol != key->protocol)
		return false;
	switch (key->side) {
	case KEY_INSIDE:
		return session->private_address == key->local && session->private_port == key->local_port &&
		       session->remote_port == key->remote_port && session->life.as.phase == PHASE_LIVE;
	case KEY_OUTSIDE:
		return session->external_address == key->local && session->external_port == key->local_port &&
		       session->remote_port == key->remote_port && session->life.as.phase == PHASE_LIVE;
	case KEY_GUEST:
		return session->external_address == key->local && session->external_port == key->local_port &&
		       session->origin == ORIGIN_WEB && session_owns(session);
	default:
		return session->private_address == key->local && session->private_port == key->local_port &&
		       session->origin != ORIGIN_WEB && session_owns(session);
	}
}

__noinline __u32 session_find_indexed(const struct session_key *key)
{
	if (!key)
		return 0;
	return index_find(&session_index, session_place(key), fixed.session_bits, session_matches, key);
}

/* The same for those that no packet of an open session waits for. */
__noinline bool session_has_key(__u32 number, const struct session_key *key)
{
	return key && session_matches(number, key);
}

/* Another than this record. */
struct rival {
	struct session_key key;
	__u32 than;
};

static __always_inline bool session_rivals(__u32 number, const void *wanted)
{
	const struct rival *rival = wanted;

	return number != rival->than && session_has_key(number, &rival->key);
}

/* Whether another session is known by the same key. */
__noinline bool session_has_rival(const struct session_key *key, __u32 than)
{
	struct rival rival = {.than = than};

	if (!key)
		return false;
	rival.key = *key;
	return index_find(&session_index, session_place(key), fixed.session_bits, session_rivals, &rival) != 0;
}

/* Asks for all records of both buckets together: one wait for memory. */
static __always_inline void record_buckets_touch(struct record_buckets buckets)
{
#pragma unroll
	for (int i = 0; i < 2 * BUCKET_RECORDS; i++) {
		struct session *session = session_at(record_buckets_record(buckets, i));

		if (session)
			(void)*(volatile __u8 *)&session->life.as.phase;
	}
}

/* The open session of an inside tuple, or 0. */
static __always_inline __u32 session_find_inside(const struct session_key *key, struct record_buckets buckets)
{
	struct session *first = session_at(buckets.first * BUCKET_RECORDS);

	record_buckets_touch(buckets);
#pragma unroll
	for (int i = 0; i < 2 * BUCKET_RECORDS; i++) {
		__u32 number = record_buckets_record(buckets, i);
		struct session *session = session_at(number);

		if (session && record_is_inside(session, key))
			return number;
	}
	return first && first->marks.as.overflow ? session_find_indexed(key) : 0;
}

/* The same of a packet from inside, whose buckets are known. */
__noinline __u32 session_find_bucket(const struct packet *packet)
{
	struct session_key key;

	if (!packet)
		return 0;
	key = source_key(&packet->tuple);
	return session_find_inside(&key, packet->buckets);
}

/*
 * The same by the outside tuple, through an outbound address: only one that is in its bucket and kept its inside port. Where a
 * host leaves by an address of another group than its own, none is.
 */
static __always_inline __u32 session_find_kept(const struct tuple *tuple, __u32 group)
{
	struct record_buckets buckets = record_buckets_outside(tuple, group);

	record_buckets_touch(buckets);
#pragma unroll
	for (int i = 0; i < 2 * BUCKET_RECORDS; i++) {
		__u32 number = record_buckets_record(buckets, i);
		struct session *session = session_at(number);

		if (session && record_is_outside(session, tuple))
			return number;
	}
	return 0;
}

static __always_inline struct session_key session_inside_key(const struct session *s)
{
	return (struct session_key){s->private_address, s->remote_address, s->private_port,
				    s->remote_port,	s->protocol,	   KEY_INSIDE};
}

static __always_inline struct session_key session_outside_key(const struct session *s)
{
	return (struct session_key){s->external_address, s->remote_address, s->external_port,
				    s->remote_port,	 s->protocol,	    KEY_OUTSIDE};
}

/* The session of a packet from outside: in a dry run a hairpin to its own mapping comes in by what it opened on its way out. */
static __always_inline __u32 dry_found(const struct packet *packet, __u32 *number)
{
	if (DRY && packet->hairpin && packet->tuple.source == packet->tuple.destination &&
	    packet->tuple.source_port == packet->tuple.destination_port)
		*number = DRY_RECORD;
	return *number;
}

/* Found from outside by its outside tuple alone: that is in the index. */
static __always_inline bool session_is_listed_outside(__u8 origin)
{
	return origin == ORIGIN_POOL || origin == ORIGIN_DNAT || origin >= ORIGIN_WEB || origin == ORIGIN_BASIC;
}

/* From the pool, however its client has proved itself. */
static __always_inline bool session_is_lent(__u8 origin)
{
	return origin == ORIGIN_POOL || origin == ORIGIN_COOKIE;
}

/* The slot of the binding that a session from the pool has. */
static __always_inline __u32 session_binding(const struct session *session)
{
	return session->origin == ORIGIN_COOKIE ? session->holds.cookie.binding : session->holds.pool.binding;
}

static __always_inline bool session_has_mapping(__u8 origin)
{
	return origin == ORIGIN_INSIDE || origin == ORIGIN_MAPPING;
}

static __always_inline struct session_key session_filter_key(const struct session *s)
{
	return (struct session_key){s->private_address, s->remote_address, s->private_port, 0, s->protocol, KEY_FILTER};
}

/* The stripe under which all sessions and the mapping of a private endpoint are opened and ended. */
static __always_inline __u64 endpoint_hash(__u32 address, __u16 port, __u8 protocol)
{
	return hash_words(address, (__u32)port << 8 | protocol);
}

__noinline __u32 session_find(const struct session_key *key)
{
	if (!key)
		return 0;
	return key->side == KEY_INSIDE ? session_find_inside(key, record_buckets_inside(key))
				       : session_find_indexed(key);
}

static __always_inline bool session_is_of(const struct session *session, const struct tuple *tuple)
{
	return session->external_address == tuple->destination && session->external_port == tuple->destination_port;
}

#define TENTATIVE_TICKS 12 /* 3 s, and what the ticks round away */

/* Tentative, and its client has proved nothing in time: it is as if it were not there. */
static __always_inline bool session_is_over(const struct session *session)
{
	return __builtin_expect(session->marks.as.flags & SESSION_TENTATIVE, 0) &&
	       (__s32)(clock_tick() - session->life.as.stamp) > TENTATIVE_TICKS;
}

/* Its handshake was answered by the data plane, and its host has not answered yet. */
static __always_inline bool session_waits(const struct session *session)
{
	return session->origin >= ORIGIN_WEB && (session->marks.as.flags & SESSION_TENTATIVE);
}

/* Sets flags, or takes them away, while others change what shares their word. */
static __always_inline void session_mark(struct session *session, __u8 flags)
{
	union marks mark = {.as.flags = flags};

	__sync_fetch_and_or(&session->marks.word, mark.word);
}

static __always_inline void session_unmark(struct session *session, __u8 flags)
{
	union marks mark = {.as.flags = flags};

	__sync_fetch_and_and(&session->marks.word, ~mark.word);
	if (flags & SESSION_TENTATIVE)
		tell(session, TOLD_SESSION_BEGINS);
}

/* Takes a flag away; whether it was there, for one of several who do. */
static __always_inline bool session_take_mark(struct session *session, __u8 flag)
{
	union marks mark = {.as.flags = flag};

	return __sync_fetch_and_and(&session->marks.word, ~mark.word) & mark.word;
}

/* What a packet did to the session. */
enum turn {
	TURN_NONE,
	TURN_STAYS,  /* its state does */
	TURN_CLOSES, /* it begins to close */
	TURN_OPENS,  /* it was closing, and is open again, or is led and was proved */
};

/* Whether a packet may open a led connection of which both have said SYN: from outside, by what its host has said. */
static __always_inline bool led_believes(struct session *session, const struct packet *packet, enum direction direction)
{
	return direction == DIRECTION_IN && (packet->tcp_flags & TCP_FLAG_ACK) &&
	       guard_is_seen(&session->proof.guard, packet, direction);
}

/* Whether a led session may stand, and count with its remote address: many may have begun before one of them was proved. */
static __always_inline bool led_may_stand(const struct session *session, __u32 generation)
{
	return (session->marks.as.flags & SESSION_HAIRPIN) ||
	       remote_judge(session->remote_address, settings_get(generation), clock_tick()) == REASON_NONE;
}

/* The TCP state after the packet, changed by one CPU alone. *changed: this packet did it. */
static __always_inline enum turn session_turn(struct session *session, __u8 tcp_flags, enum direction direction,
					      __u32 tick, bool *changed)
{
	bool opens = direction == tcp_opener(session->origin);
	union life old, new;

	for (int tries = 0; tries < 4; tries++) {
		old.word = *(volatile __u64 *)&session->life.word;
		new.word = old.word;
		new.as.tcp = tcp_next(old.as.tcp, tcp_flags, direction, opens);
		if (new.as.tcp == old.as.tcp || old.as.phase != PHASE_LIVE)
			return TURN_NONE;
		new.as.stamp = tick;
		if (__sync_val_compare_and_swap(&session->life.word, old.word, new.word) != old.word)
			continue;
		*changed = true;
		tell(session, TOLD_SESSION_CHANGES);
		if (session_is_led(session->origin) && old.as.tcp == TCP_SYN_BOTH)
			return TURN_OPENS; /* it is proved */
		if (tcp_is_closing(old.as.tcp) == tcp_is_closing(new.as.tcp))
			return TURN_NONE;
		return tcp_is_closing(new.as.tcp) ? TURN_CLOSES : TURN_OPENS;
	}
	return TURN_NONE;
}

/* Changes the TCP state by a packet, unless that is not to be believed; TURN_STAYS where another CPU has changed it. */
__noinline enum turn session_change(struct session *session, const struct packet *packet, enum direction direction)
{
	bool changed = false;
	enum turn turn;

	if (!session || !packet)
		return TURN_STAYS;
	if ((packet->tcp_flags & (TCP_FLAG_RST | TCP_FLAG_FIN)) &&
	    !guard_believes(&session->proof.guard, packet, direction))
		return TURN_NONE;
	if (session->life.as.tcp == TCP_SYN_BOTH && session_is_led(session->origin) &&
	    (!led_believes(session, packet, direction) || !led_may_stand(session, packet->generation)))
		return TURN_NONE;
	turn = session_turn(session, packet->tcp_flags, direction, clock_tick(), &changed);
	return changed ? turn : TURN_STAYS;
}

/*
 * Notes a packet of the session: TCP state, and the stamp once a tick. Packets that only close or reset refresh
 * nothing, but the wait behind them counts from the change (RFC 7857 §2 and §7).
 */
static __always_inline enum turn session_touch(struct session *session, const struct packet *packet,
					       enum direction direction, __u32 tick)
{
	if (session->protocol == IPPROTO_TCP) {
		struct guard *guard = &session->proof.guard;
		__u8 flags = packet->tcp_flags, state = session->life.as.tcp;
		__u8 next = tcp_next(state, flags, direction, direction == tcp_opener(session->origin));

		guard_follow(guard, packet, direction, next);
		if (next != state) {
			enum turn turn = session_change(session, packet, direction);

			if (turn != TURN_STAYS)
				return turn;
		}
		if (!tcp_refreshes(state))
			return TURN_NONE;
	}
	if (session->life.as.stamp != tick)
		session->life.as.stamp = tick;
	return TURN_NONE;
}
