/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fragments but the first, from outside and for the gateway itself. Nobody can tell whose flow they are of: they pass where
 * the protection lets one of the directions.
 */
#pragma once

#include "../guard/input.h"

static __always_inline enum reason fragment_input(ctx_t *ctx, struct packet *packet)
{
	enum reason said;

	packet->tuple.protocol = IPPROTO_FRAGMENT;
	said = input_judge(ctx, packet, true, false);
	return said == REASON_NONE ? said : input_judge(ctx, packet, true, true);
}
