/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The sequence guard: an RST or FIN of somebody who sees nothing of the connection and guesses its numbers changes no
 * state. Of each direction the unit of 64 KiB is kept in which its last number lay: half of the number, written once a
 * unit, so that packets within one dirty no cache line. What is near it is believed: 33 units of 65,536. A segment
 * without RST takes it forward, an aggregate by a unit at once; one from further away only if it acknowledges
 * what the other side sent last, as behind a loss of more than GUARD_NEAR units. Pure: no map, no clock.
 */
#pragma once

#include "tcp.h"

#define GUARD_NEAR   16	  /* units: 1 MiB */
#define GUARD_BEHIND 1024 /* units, 64 MiB: how far back a segment may be one that is sent again */
#define GUARD_ACKED  8	  /* units, 512 KiB: how far an acknowledgement may be behind what it has seen */

/* How far on the unit of a number lies; the numbers go round. */
static __always_inline __s16 guard_ahead(__u16 unit, __u16 last)
{
	return (__s16)(bpf_ntohs(unit) - bpf_ntohs(last));
}

static __always_inline __u16 *guard_of(struct guard *guard, enum direction direction)
{
	return direction == DIRECTION_OUT ? &guard->out : &guard->in;
}

static __always_inline bool guard_believes(struct guard *guard, const struct packet *packet, enum direction direction)
{
	__s16 ahead = guard_ahead(packet->sequence, *guard_of(guard, direction));

	return ahead >= -GUARD_NEAR && ahead <= GUARD_NEAR;
}

/* How far the segment's acknowledgement is behind what the other side sent last. */
static __always_inline __s16 guard_behind(struct guard *guard, const struct packet *packet, enum direction direction)
{
	enum direction other = direction == DIRECTION_OUT ? DIRECTION_IN : DIRECTION_OUT;

	return guard_ahead(*guard_of(guard, other), packet->acknowledges);
}

/* Whether the segment acknowledges what the other side sent last: whoever sent it has seen that. */
static __always_inline bool guard_is_acknowledged(struct guard *guard, const struct packet *packet,
						  enum direction direction)
{
	__s16 behind = guard_behind(guard, packet, direction);

	return (packet->tcp_flags & TCP_FLAG_ACK) && behind >= 0 && behind <= GUARD_ACKED;
}

/* Whether the segment acknowledges that, and is none that comes after what its own side sent last: it may be one that came before. */
static __always_inline bool guard_is_repeated(struct guard *guard, const struct packet *packet,
					      enum direction direction)
{
	__s16 ahead = guard_ahead(packet->sequence, *guard_of(guard, direction));

	return guard_is_acknowledged(guard, packet, direction) && ahead <= 0 && ahead >= -GUARD_ACKED;
}

/* Whether the first segment behind the other side's SYN and ACK acknowledges that: it may be in the next unit. */
static __always_inline bool guard_is_seen(struct guard *guard, const struct packet *packet, enum direction direction)
{
	__s16 behind = guard_behind(guard, packet, direction);

	return behind >= -1 && behind <= GUARD_ACKED;
}

/* Whether the direction's last number is the segment's from now on. state: to which the segment leads. */
static __always_inline bool guard_moves(struct guard *guard, const struct packet *packet, enum direction direction,
					__u8 state)
{
	__s16 ahead = guard_ahead(packet->sequence, *guard_of(guard, direction));

	if (packet->tcp_flags & TCP_FLAG_RST)
		return false;
	if (packet->tcp_flags & TCP_FLAG_SYN) /* until it is acknowledged, it is what there is */
		return state == TCP_SYN || state == TCP_SYN_BOTH;
	if (ahead < 0 && ahead >= -GUARD_BEHIND)
		return false;
	return (ahead > 0 && ahead <= GUARD_NEAR) || guard_is_acknowledged(guard, packet, direction);
}

/* Goes on with a segment. */
static __always_inline void guard_follow(struct guard *guard, const struct packet *packet, enum direction direction,
					 __u8 state)
{
	__u16 *last = guard_of(guard, direction);

	if (__builtin_expect(*last != packet->sequence, 0) && guard_moves(guard, packet, direction, state))
		*last = packet->sequence;
}
