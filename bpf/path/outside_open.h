/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Opening a session for a packet from outside that has a private endpoint already, from a binding or a chain: neither its
 * outside nor its inside tuple is anybody else's.
 */
#pragma once

#include "../pool/admit.h"

/* A session stands where the new one would: is it ending, so that a pure SYN may take its place (I8)? */
static __always_inline bool session_gives_way(const struct session *session, const struct packet *packet)
{
	return packet->tuple.protocol == IPPROTO_TCP && (tcp_is_closing(session->life.tcp) || session_is_over(session));
}

/* Under the stripe of the host's endpoint. flow->opened says whether it was opened, or found open. */
__noinline enum reason outside_open_locked(const struct packet *packet, struct flow *flow,
					   const struct settings *settings, __u32 *number)
{
	struct session_key key = {};
	struct session *session;
	enum reason reason;
	__u32 found;

	if (!packet || !flow || !settings || !number)
		return REASON_DROP_INTERNAL;
	key.local = flow->external_address;
	key.local_port = flow->external_port;
	key.remote = flow->remote_address;
	key.remote_port = flow->remote_port;
	key.protocol = flow->protocol;
	key.side = KEY_OUTSIDE;
	found = session_is_listed_outside(flow->origin) ? session_find(&key) : 0;
	if (found) {
		session = session_at(found);
		if (!session || session->private_address != flow->private_address ||
		    session->private_port != flow->private_port)
			return REASON_DROP_SESSION_CONFLICT; /* I4: never retarget */
		if (!session_gives_way(session, packet)) {
			*number = found; /* a duplicate of the first packet: it follows the flow */
			return REASON_NONE;
		}
	}
	key.local = flow->private_address;
	key.local_port = flow->private_port;
	key.side = KEY_INSIDE;
	found = session_find(&key);
	session = session_at(found);
	if (found && session && flow->origin == ORIGIN_OWN_IN && session_is_of(session, &packet->tuple) &&
	    !session_gives_way(session, packet)) {
		*number = found;
		return REASON_NONE;
	}
	if (found && (!session || !session_gives_way(session, packet)))
		return REASON_DROP_SESSION_CONFLICT; /* I8 */
	reason = flow->flags & SESSION_HAIRPIN ? REASON_NONE : remote_judge(flow->remote_address, settings, flow->tick);
	if (reason != REASON_NONE)
		return reason;
	/* The record first: a packet that finds none spends no claim. */
	flow->homes = homes_inside(&key);
	*number = record_allocate(flow->homes.first, flow->homes.second, false);
	if (!*number)
		return REASON_DROP_SESSION_TABLE_FULL;
	if (flow->origin == ORIGIN_POOL)
		reason = pool_enter(flow, settings);
	else if (!(flow->flags & SESSION_HAIRPIN) && !led_join(flow->private_address, settings))
		reason = REASON_DROP_BINDING_SESSIONS;
	if (reason != REASON_NONE) {
		record_release(*number, false);
		*number = 0;
		return reason;
	}
	if (!DRY && found && session)
		session_end(found, session, settings, clock_tick());
	flow_count(flow);
	reason = session_open(flow, settings, number);
	flow->opened = reason == REASON_NONE;
	if (!flow->opened && (flow->flags & SESSION_COUNTED))
		remote_leave(flow->remote_address);
	if (!flow->opened && flow->origin != ORIGIN_POOL && !(flow->flags & SESSION_HAIRPIN))
		led_leave(flow->private_address);
	if (flow->origin == ORIGIN_POOL)
		pool_entered(flow, flow->opened);
	return reason;
}

/* The same, and takes the stripe. In line: the kernel allows eight frames of calls. */
static __always_inline enum reason outside_open(const struct packet *packet, struct flow *flow, __u32 *number)
{
	struct settings *settings = settings_get(packet->generation);
	struct stripe *stripe;
	enum reason reason;

	if (!settings)
		return REASON_DROP_INTERNAL;
	stripe = lock_stripe(endpoint_hash(flow->private_address, flow->private_port, flow->protocol));
	if (!stripe || !lock_take(stripe))
		return REASON_DROP_BUSY;
	reason = outside_open_locked(packet, flow, settings, number);
	lock_release(stripe);
	return reason;
}
