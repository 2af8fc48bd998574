/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Opening a session for a packet from inside, when chains have let its flow pass: through a mapping, which is made where the
 * host's endpoint has none, or as it is.
 */
#pragma once

#include "private_admit.h"

/* Under the stripe: ends a session that is as good as none; false where it is one. */
__noinline bool private_clear(__u32 number, const struct settings *settings)
{
	struct session *session = session_at(number);

	if (!session || !settings || !session_is_over(session))
		return false;
	if (DRY)
		return true;
	session_end(number, session, settings, clock_tick());
	return true;
}

/*
 * Under the stripe: the mapping of the packet's source, if it has one and needs it, and the count of what it is about to
 * open.
 */
__noinline enum reason private_enter(const struct packet *packet, struct flow *flow, const struct settings *settings)
{
	struct mapping_key host = {};
	bool maps = false;

	if (!packet || !flow || !settings)
		return REASON_DROP_INTERNAL;
	host.address = packet->tuple.source;
	host.port = packet->tuple.source_port;
	host.protocol = packet->tuple.protocol;
	if (flow->origin != ORIGIN_OWN) {
		flow->outbound = slot_of(host.address);
		host.outbound = flow->outbound;
		if (host.outbound == NO_SLOT)
			return REASON_DROP_NO_ADDRESS;
	}
	if (session_has_mapping(flow->origin)) {
		flow->mapping = mapping_find(&host);
		maps = !flow->mapping;
	}
	return subscriber_enter(&host, maps, settings, flow->tick, &flow->flags);
}

/* The same: what it is outside, by a mapping or as it is. A new mapping counts with its subscriber already. */
static __always_inline enum reason private_translate(ctx_t *ctx, const struct packet *packet, struct flow *flow)
{
	bool counted = flow->flags & SESSION_COUNTED;
	enum reason reason;

	if (!session_has_mapping(flow->origin)) {
		if (flow->origin != ORIGIN_OWN)
			flow->external_address = slot_address(flow->outbound);
		flow->external_port = packet->tuple.source_port;
		return REASON_NONE;
	}
	flow->mapped = !flow->mapping;
	reason = mapping_acquire(ctx, &packet->tuple, &flow->mapping, flow->outbound, counted);
	if (reason != REASON_NONE)
		return reason;
	flow->external_address = slot_address(flow->mapping / (PROTOCOLS * PORTS));
	flow->external_port = bpf_htons(flow->mapping & (PORTS - 1));
	return REASON_NONE;
}

/* Under the stripe: opens the session unless another CPU did meanwhile. */
static __always_inline enum reason private_open_locked(ctx_t *ctx, const struct packet *packet, struct flow *flow,
						       __u32 *number)
{
	struct settings *settings;
	enum reason reason;
	__u32 record;

	if (!packet || !flow || !number)
		return REASON_DROP_INTERNAL;
	settings = settings_get(packet->generation);
	if (!settings)
		return REASON_DROP_INTERNAL;
	*number = session_find_bucket(packet);
	if (*number && !private_clear(*number, settings))
		return REASON_NONE;
	reason = private_enter(packet, flow, settings);
	if (reason != REASON_NONE)
		return reason;
	/* The record first: a packet that finds none takes no port. */
	record = record_allocate(packet->buckets.first, packet->buckets.second, true);
	if (!record) {
		if (session_has_mapping(flow->origin) && !flow->mapping && (flow->flags & SESSION_COUNTED))
			subscriber_leave(packet->tuple.source, packet->tuple.protocol, true);
		reason = REASON_DROP_SESSION_TABLE_FULL;
		goto leave;
	}
	reason = private_translate(ctx, packet, flow);
	if (reason != REASON_NONE) {
		record_release(record, true);
		goto leave;
	}
	*number = record;
	if (flow->origin == ORIGIN_OWN) {
		reason = session_open(flow, settings, number);
	} else {
		reason = shared_session_open(flow, settings, number);
		if (!DRY && reason != REASON_NONE && session_has_mapping(flow->origin)) {
			if (flow->mapped)
				mapping_tell_unused(flow->mapping);
			mapping_release(flow->mapping, false, 0, flow->tick);
		}
	}
	if (reason == REASON_NONE) {
		trace_step(TRACE_NAT, 0, flow->external_address, flow->external_port, 0);
		return REASON_NONE;
	}
leave:
	if (flow->flags & SESSION_COUNTED)
		subscriber_leave(packet->tuple.source, packet->tuple.protocol, false);
	return reason;
}

/* Opens the session, unless another CPU did meanwhile: *number. */
__noinline enum reason private_open(ctx_t *ctx, const struct packet *packet, struct flow *flow, __u32 *number)
{
	struct stripe *stripe;
	enum reason reason;

	if (!packet || !flow || !number)
		return REASON_DROP_INTERNAL;
	stripe = lock_stripe(endpoint_hash(flow->private_address, flow->private_port, flow->protocol));
	if (!stripe || !lock_take(stripe))
		return REASON_DROP_BUSY;
	reason = private_open_locked(ctx, packet, flow, number);
	lock_release(stripe);
	return reason;
}
