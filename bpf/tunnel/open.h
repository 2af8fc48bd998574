/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Opening a session of a pact. */
#pragma once

#include "../path/private_open.h"
#include "pact.h"

/* Under the stripe. */
static __always_inline enum reason edge_open_out_locked(const struct packet *packet, struct flow *flow, __u32 *number)
{
	struct settings *settings = settings_get(packet->generation);
	struct mapping_key host = {};
	struct session *session;
	enum reason reason;

	if (!settings)
		return REASON_DROP_INTERNAL;
	*number = session_find_bucket(packet);
	session = session_at(*number);
	if (*number && session) {
		if (session_is_by(session, flow->tag, flow->peer_tag))
			return REASON_NONE;
		if (!DRY)
			session_end(*number, session, settings, clock_tick());
	}
	host.address = packet->tuple.source;
	host.port = packet->tuple.source_port;
	host.protocol = packet->tuple.protocol;
	reason = subscriber_enter(&host, false, settings, flow->tick, &flow->flags);
	if (reason != REASON_NONE)
		return reason;
	*number = record_allocate(packet->buckets.first, packet->buckets.second, true);
	reason = *number ? session_open(flow, settings, number) : REASON_DROP_SESSION_TABLE_FULL;
	if (reason != REASON_NONE && (flow->flags & SESSION_COUNTED))
		subscriber_leave(packet->tuple.source, packet->tuple.protocol, false);
	return reason;
}

__noinline enum reason edge_open_out(const struct packet *packet, struct flow *flow, __u32 *number)
{
	struct stripe *stripe;
	enum reason reason;

	if (!packet || !flow || !number)
		return REASON_DROP_INTERNAL;
	stripe = lock_stripe(endpoint_hash(flow->private_address, flow->private_port, flow->protocol));
	if (!stripe || !lock_take(stripe))
		return REASON_DROP_BUSY;
	reason = edge_open_out_locked(packet, flow, number);
	lock_release(stripe);
	return reason;
}
