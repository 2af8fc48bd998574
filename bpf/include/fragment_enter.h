/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fragments but the first have a program of their own, fragment_side.h.
 */
#pragma once

#include "fragment_context.h"

static __always_inline void fragment_enter(ctx_t *ctx, enum fragment_side side)
{
	struct fragment_here *here = fragment_here();

	if (!here)
		return;
	here->side = side;
	bpf_tail_call(ctx, &programs, PROGRAM_FRAGMENT);
}
