/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Opening a session for a packet from another edge: what its pact lets in, and the session itself. */
#pragma once

#include "../path/public_find.h"
#include "error.h"
#include "pact.h"

/* Whether the pact opens the port, as the other edge says it. */
static __always_inline bool pact_opens(const struct pact *pact, __u8 protocol, __u16 port)
{
	if (pact->flags & PACT_WHOLE)
		return true;
	if (protocol == IPPROTO_ICMP)
		return pact->flags & PACT_PING;
#pragma unroll
	for (int i = 0; i < PACT_SERVICES; i++) {
		if (i < pact->services && pact->protocol[i] == protocol && pact->port[i] == port)
			return true;
	}
	return false;
}

/* Why the other edge may not have one session more by the pact: as many as was agreed, or as many new ones in this second. */
__noinline enum reason pact_weigh(const struct pact *pact, __u32 tick)
{
	struct tally *tally = pact ? remote_tally(pact->proxy) : 0;

	if (!pact)
		return REASON_DROP_INTERNAL;
	if (!tally)
		return REASON_NONE;
	if (pact->most && tally_uses_of(tally).uses.count >= pact->most)
		return REASON_DROP_PACT_SESSIONS;
	if (pact->rate && tally_rate(*(volatile __u64 *)&tally->shares, tick) >= pact->rate)
		return REASON_DROP_PACT_SESSIONS;
	return REASON_NONE;
}

/* REASON_NONE, or why the packet opens nothing; what it would open. */
__noinline enum reason edge_admit_in(const struct packet *packet, const struct pact *pact, struct flow *flow)
{
	enum reason reason;

	if (!packet || !pact || !flow)
		return REASON_DROP_INTERNAL;
	reason = may_open(packet);
	if (reason != REASON_NONE)
		return reason;
	if (!(pact->flags & PACT_IN))
		return REASON_DROP_PACT_DIRECTION;
	if (!pact_opens(pact, packet->tuple.protocol, packet->tuple.destination_port))
		return REASON_DROP_PACT_SERVICE;
	flow->origin = ORIGIN_EDGE_IN;
	flow->private_address = packet->tuple.destination;
	flow->private_port = pact_port_inside(pact, packet->tuple.protocol, packet->tuple.destination_port);
	flow->remote_address = packet->tuple.source;
	flow->remote_port = packet->tuple.source_port;
	flow->external_port = packet->tuple.destination_port;
	flow->protocol = packet->tuple.protocol;
	if (pact->flags & PACT_WHOLE)
		flow->flags = SESSION_WHOLE_HOST;
	flow->tag = pact->own_tag;
	flow->peer_tag = pact->peer_tag;
	if (is_banned(flow->remote_address))
		return REASON_DROP_BANNED;
	reason = service_judge(flow->private_address, flow->private_port, flow->protocol,
			       flow->origin << 8 | flow->flags, packet->generation);
	if (reason == REASON_NONE && packet->ttl <= 1) /* who may not come is not told */
		reason = REASON_DROP_TTL_EXPIRED;
	return reason;
}

/* Under the stripe of the host's endpoint. */
__noinline enum reason edge_open_in_locked(const struct packet *packet, const struct pact *pact, struct flow *flow,
					   __u32 *number)
{
	struct settings *settings;
	struct session *session;
	struct session_key key;
	enum reason reason;
	__u32 found;

	if (!packet || !pact || !flow || !number)
		return REASON_DROP_INTERNAL;
	settings = settings_get(packet->generation);
	if (!settings)
		return REASON_DROP_INTERNAL;
	key = flow_inside_key(flow);
	found = session_find(&key);
	session = session_at(found);
	/* One of an older pact, or of NAT before there were edges, is over. */
	if (found && session && session_is_by(session, flow->tag, flow->peer_tag)) {
		if (session->external_port == flow->external_port) {
			*number = found; /* another CPU has opened it */
			return REASON_NONE;
		}
		if (!session_gives_way(session, packet))
			return REASON_DROP_SESSION_CONFLICT; /* I8 */
	}
	reason = pact_weigh(pact, flow->tick);
	if (reason == REASON_NONE)
		reason = remote_judge(flow->remote_address, settings, flow->tick);
	if (reason != REASON_NONE)
		return reason;
	flow->buckets = record_buckets_inside(&key);
	*number = record_allocate(flow->buckets.first, flow->buckets.second, false);
	if (!*number)
		return REASON_DROP_SESSION_TABLE_FULL;
	if (found && session)
		session_end(found, session, settings, clock_tick());
	flow_count(flow);
	reason = session_open(flow, settings, number);
	if (reason != REASON_NONE && (flow->flags & SESSION_COUNTED))
		remote_leave(flow->remote_address);
	return reason;
}

/* Opens the session, unless another CPU did meanwhile: *number. */
__noinline enum reason edge_open_in(const struct packet *packet, const struct pact *pact, struct flow *flow,
				    __u32 *number)
{
	struct stripe *stripe;
	enum reason reason;

	if (!packet || !pact || !flow || !number)
		return REASON_DROP_INTERNAL;
	stripe = lock_stripe(endpoint_hash(flow->private_address, flow->private_port, flow->protocol));
	if (!stripe || !lock_take(stripe))
		return REASON_DROP_BUSY;
	reason = edge_open_in_locked(packet, pact, flow, number);
	lock_release(stripe);
	return reason;
}
