/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fragments but the first have a program of their own, fragment/side.h.
 */
#pragma once

#include "hold.h"

/*
 * Whether the first of a fragment's packet has left word, or there is room to hold it: else it has nothing to do there. Asked
 * before, so that whoever forges fragments costs the others little.
 */
__noinline bool fragment_is_awaited(const struct packet *packet, enum fragment_side side)
{
	__u64 tag;

	if (!packet)
		return false;
	tag = fragment_tag(packet->tuple.source, packet->tuple.destination, packet->identification,
			   packet->tuple.protocol, side);
	return context_find(tag, packet->tuple.source) || hold_has_room(tag, packet->tuple.source);
}

static __always_inline void fragment_enter(ctx_t *ctx, enum fragment_side side)
{
	struct fragment_here *here = fragment_here();

	if (!here)
		return;
	here->side = side;
	bpf_tail_call(ctx, &programs, PROGRAM_FRAGMENT);
}
