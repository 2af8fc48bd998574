/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * TCP as a translator sees it: RFC 5382 REQ-2 and REQ-5, with the refinements of RFC 7857 §2 (an RST only
 * shortens the life of a session, and traffic behind it revives it). Pure: no map, no clock.
 */
#pragma once

#include "../packet/packet.h"
#include "../include/types.h"

enum direction {
	DIRECTION_OUT, /* from inside */
	DIRECTION_IN,
};

/* Opened by a host inside. */
static __always_inline bool session_is_outbound(__u8 origin)
{
	return origin <= ORIGIN_EDGE_OUT;
}

/* From outside, to where dnat or 1:1 leads: whoever sends the first packet has a session, and may not be who it says. */
static __always_inline bool session_is_led(__u8 origin)
{
	return origin == ORIGIN_DNAT || origin == ORIGIN_OWN_IN;
}

/* By a pact with another edge, whichever side has opened it: its external address is 0, and it has an external port alone. */
static __always_inline bool session_is_edge(__u8 origin)
{
	return origin == ORIGIN_EDGE_OUT || origin == ORIGIN_EDGE_IN;
}

static __always_inline enum direction tcp_opener(__u8 origin)
{
	return session_is_outbound(origin) ? DIRECTION_OUT : DIRECTION_IN;
}

static __always_inline bool tcp_is_pure_syn(__u8 flags)
{
	return (flags & (TCP_FLAG_SYN | TCP_FLAG_ACK | TCP_FLAG_RST | TCP_FLAG_FIN)) == TCP_FLAG_SYN;
}

/* Both sides have finished, or one has reset: a new connection may take the tuple. */
static __always_inline bool tcp_is_closing(__u8 state)
{
	return state == TCP_FIN_BOTH || state == TCP_RST;
}

/* Whether a packet in this state prolongs the session: not while opening or closing. */
static __always_inline bool tcp_refreshes(__u8 state)
{
	return state == TCP_ESTABLISHED || state == TCP_FIN_IN || state == TCP_FIN_OUT || state == TCP_ORDERED;
}

static __always_inline __u8 tcp_after_fin(__u8 state, enum direction direction)
{
	switch (state) {
	case TCP_FIN_OUT:
		return direction == DIRECTION_IN ? TCP_FIN_BOTH : state;
	case TCP_FIN_IN:
		return direction == DIRECTION_OUT ? TCP_FIN_BOTH : state;
	case TCP_SYN_BOTH:
	case TCP_ESTABLISHED:
	case TCP_ORDERED:
		return direction == DIRECTION_OUT ? TCP_FIN_OUT : TCP_FIN_IN;
	}
	return state;
}

/* The state after a packet. opens: it travels in the direction the session was opened in. */
static __always_inline __u8 tcp_next(__u8 state, __u8 flags, enum direction direction, bool opens)
{
	if (flags & TCP_FLAG_RST) /* what was not established is not for traffic behind it to revive */
		return tcp_refreshes(state) ? TCP_RST : state;
	if (flags & TCP_FLAG_SYN) {
		if (state == TCP_SYN && !opens)
			return TCP_SYN_BOTH; /* SYN-ACK, or a simultaneous open */
		if (tcp_is_closing(state) && !(flags & TCP_FLAG_ACK))
			return opens ? TCP_SYN : TCP_SYN_BOTH; /* the tuple is used again */
		return state;
	}
	if (flags & TCP_FLAG_FIN)
		return tcp_after_fin(state, direction);
	if ((flags & TCP_FLAG_ACK) && (state == TCP_SYN_BOTH || state == TCP_RST))
		return TCP_ESTABLISHED;
	return state;
}

static __always_inline __u32 tcp_timeout(const struct settings *settings, __u8 state)
{
	if (tcp_is_closing(state)) /* apart from opening: RFC 7857 §2.1 */
		return settings->timeout[TIMEOUT_TCP_CLOSING];
	return settings->timeout[tcp_refreshes(state) ? TIMEOUT_TCP_ESTABLISHED : TIMEOUT_TCP_TRANSITORY];
}
