/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A client that has forgotten its connection says SYN by the same port, and that goes to the host, whose challenge ACK sends
 * the client away (RFC 5961 section 4). A host that has forgotten, too, would take it for a new connection; but nobody has read
 * which name that is for. So its SYN and ACK ends the session, and the client's next SYN is answered by a cookie.
 */
#pragma once

#include "../conntrack/standing.h"

/* Whether it is the host's SYN and ACK of an open session again: our ACK is lost, or the host answers our second SYN. */
static __always_inline bool host_repeats(struct session *session, const struct packet *packet)
{
	return !tcp_is_closing(session->life.as.tcp) && (packet->tcp_flags & TCP_FLAG_SYN) &&
	       guard_is_repeated(&session->proof.guard, packet, DIRECTION_OUT);
}

/* Whether a segment of the host begins the connection of an open session anew, which is over then. */
__noinline bool host_begins_anew(struct session *session, const struct packet *packet)
{
	bool changed = false;

	if (!session || !packet || !(packet->tcp_flags & TCP_FLAG_SYN) ||
	    guard_is_repeated(&session->proof.guard, packet, DIRECTION_OUT))
		return false;
	if (session_turn(session, TCP_FLAG_RST, DIRECTION_OUT, clock_tick(), &changed) == TURN_CLOSES)
		standing_close(session);
	return true;
}
