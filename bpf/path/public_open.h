/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Opening a session for a packet from outside, when chains have let its flow pass: neither its outside nor its inside tuple
 * is anybody else's.
 */
#pragma once

#include "../pool/admit.h"
#include "../pool/tentative.h"
#include "public_admit.h"

/* Whether it takes one of the places that its host has for sessions of whoever comes. */
static __always_inline bool flow_is_led(const struct flow *flow)
{
	return session_is_led(flow->origin) && !(flow->flags & SESSION_HAIRPIN);
}

/* Under the stripe of the host's endpoint. flow->opened says whether it was opened, or found open. */
__noinline enum reason outside_open_locked(const struct packet *packet, struct flow *flow,
					   const struct settings *settings, __u32 *number)
{
	struct session_key key;
	struct session *session;
	enum reason reason;
	__u32 found;

	if (!packet || !flow || !settings || !number)
		return REASON_DROP_INTERNAL;
	key = flow_outside_key(flow);
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
	key = flow_inside_key(flow);
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
	flow->buckets = record_buckets_inside(&key);
	*number = record_allocate(flow->buckets.first, flow->buckets.second, false);
	if (!*number)
		return REASON_DROP_SESSION_TABLE_FULL;
	if (session_is_lent(flow->origin))
		reason = pool_enter(flow, settings);
	else if (flow_is_led(flow) && !led_join(flow->private_address, settings))
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
	if (!flow->opened && flow_is_led(flow))
		led_leave(flow->private_address);
	if (session_is_lent(flow->origin))
		pool_entered(flow, flow->opened);
	return reason;
}

/* The same through a mapping, which may have ended meanwhile. */
__noinline enum reason mapping_open_locked(const struct packet *packet, struct flow *flow,
					   const struct settings *settings, __u32 *number)
{
	struct session_key key;
	struct endpoint endpoint;
	struct session *session;
	enum reason reason;

	if (!packet || !flow || !settings || !number)
		return REASON_DROP_INTERNAL;
	key = flow_inside_key(flow);
	endpoint = mapping_at(flow->mapping);
	if (endpoint.phase != PHASE_LIVE || endpoint.address != key.local || endpoint.port != key.local_port)
		return REASON_DROP_NO_MAPPING;
	*number = session_find(&key);
	if (*number) {
		session = session_at(*number);
		return session && session_is_of(session, &packet->tuple) ? REASON_NONE : REASON_DROP_SESSION_CONFLICT;
	}
	reason = mapping_admits(&key, settings);
	if (reason == REASON_NONE && mapping_is_full(flow->mapping, &settings->limits))
		reason = REASON_DROP_MAPPING_SESSIONS;
	if (reason == REASON_NONE && !packet->hairpin)
		reason = remote_judge(flow->remote_address, settings, flow->tick);
	if (reason != REASON_NONE)
		return reason;
	flow->buckets = record_buckets_inside(&key);
	*number = record_allocate(flow->buckets.first, flow->buckets.second, false);
	if (!*number)
		return REASON_DROP_SESSION_TABLE_FULL;
	flow_count(flow);
	reason = shared_session_open(flow, settings, number);
	if (reason == REASON_NONE)
		mapping_join(flow->mapping, true);
	else if (flow->flags & SESSION_COUNTED)
		remote_leave(flow->remote_address);
	return reason;
}

/* Opens the session, unless another CPU did meanwhile: *number. */
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
	reason = flow->origin == ORIGIN_MAPPING ? mapping_open_locked(packet, flow, settings, number)
						: outside_open_locked(packet, flow, settings, number);
	lock_release(stripe);
	if (!DRY && flow->opened && flow->origin == ORIGIN_POOL && (flow->flags & SESSION_TENTATIVE))
		tentative_put(flow, *number, packet->generation);
	return reason;
}

/* The same for a packet that goes on inside. */
__noinline enum reason public_open(const struct packet *packet, struct flow *flow, __u32 *number)
{
	enum reason reason;

	if (!packet || !flow || !number)
		return REASON_DROP_INTERNAL;
	/* Functions may have changed the packet since it was admitted. */
	reason = packet->ttl <= 1 ? REASON_DROP_TTL_EXPIRED : may_open(packet);
	return reason == REASON_NONE ? outside_open(packet, flow, number) : reason;
}
