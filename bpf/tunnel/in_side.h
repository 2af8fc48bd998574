/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Packets of the tunnel from other edges. */
#pragma once

#include "../packet/parse.h"
#include "link.h"
#include "pact.h"

static __always_inline int edge_in(ctx_t *ctx)
{
	struct packet packet = {};

	return verdict(ctx, &packet, REASON_DROP_EDGE_LINK, SIDE_PUBLIC);
}
