/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whether a SYN to a binding that has no room for unproved sessions is answered by a cookie (overflow.h). */
#pragma once

#include "port.h"

/* Whether the client of a SYN could claim if it proved itself: nothing is taken. */
__noinline enum reason overflow_admit(struct flow *flow, __u32 generation)
{
	struct settings *settings = settings_get(generation);
	struct binding *binding;

	if (!flow || !settings)
		return REASON_DROP_INTERNAL;
	binding = binding_at(flow->binding);
	if (!binding)
		return REASON_DROP_NO_BINDING;
	if (*(volatile __u32 *)&binding->sessions >= settings->limits.binding_sessions)
		return REASON_DROP_BINDING_SESSIONS;
	return pool_admit(flow, settings);
}

/* REASON_NONE where it is answered. Bans have been asked. */
static __always_inline enum reason overflow_judge(ctx_t *ctx, struct packet *packet, struct flow *flow)
{
	enum reason reason = service_judge(flow->private_address, flow->private_port, IPPROTO_TCP,
					   ORIGIN_POOL << 8 | flow->flags, packet->generation);

	if (reason == REASON_NONE)
		reason = web_protect(ctx, packet);
	return reason == REASON_NONE ? overflow_admit(flow, packet->generation) : reason;
}

/* A dry run of a SYN there, and of what brings its cookie back: REASON_NONE where that opens the session. */
static __always_inline enum reason overflow_dry(ctx_t *ctx, struct packet *packet, struct flow *flow)
{
	enum reason reason = overflow_judge(ctx, packet, flow);

	if (reason != REASON_NONE)
		return reason;
	trace_step(TRACE_OVERFLOW, 0, 0, 0, 0);
	flow->flags |= SESSION_TENTATIVE;
	return web_judge(ctx, packet, flow);
}
