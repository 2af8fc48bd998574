/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Packets from inside to a proxy address. */
#pragma once

#include "../packet/parse.h"
#include "link.h"
#include "pact.h"

static __always_inline int edge_out(ctx_t *ctx)
{
	struct control *control = control_get();
	struct packet packet = {};
	enum reason reason = packet_parse(ctx, &packet);
	struct pact *pact;

	if (!control)
		return verdict(ctx, &packet, REASON_DROP_INTERNAL, SIDE_PRIVATE);
	packet.generation = *(volatile __u32 *)&control->generation;
	if (reason != REASON_NONE)
		return verdict(ctx, &packet, reason, SIDE_PRIVATE);
	pact = pact_of_proxy(control, packet.tuple.destination, clock_tick());
	return verdict(ctx, &packet, pact ? REASON_DROP_NO_LINK : REASON_DROP_NO_PACT, SIDE_PRIVATE);
}
