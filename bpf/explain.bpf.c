// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The data plane for dry runs, trace/dry.h: what comes in by either side, and what a host sends to another behind the
 * same gateway, or behind another edge.
 */
#define DRY 1

#include "path/private_side.h"
#include "path/public_side.h"
#include "path/single_side.h"
#include "tunnel/out_side.h"

SEC(CTX_SECTION)
int explain_private(ctx_t *ctx)
{
	return private_side(ctx);
}

SEC(CTX_SECTION)
int explain_public(ctx_t *ctx)
{
	return public_side(ctx, false);
}

SEC(CTX_SECTION)
int explain_single(ctx_t *ctx)
{
	return single_side(ctx, false);
}

SEC(CTX_SECTION)
int explain_single_in(ctx_t *ctx)
{
	return single_side(ctx, true);
}

/* Entered from explain_private by tail call. */
SEC(CTX_SECTION)
int explain_hairpin(ctx_t *ctx)
{
	return public_side(ctx, true);
}

/* The same, to a proxy address. */
SEC(CTX_SECTION)
int explain_edge_out(ctx_t *ctx)
{
	return edge_out(ctx);
}

/* Types that Go needs and no map names: a mention keeps them in the object's type information. */
struct exported {
	enum trace_kind kind;
	enum trace_limit limit;
	enum nf_hook hook;
	enum nf_verdict verdict;
};
const struct exported *exported __attribute__((unused));

char _license[] SEC("license") = "Dual BSD/GPL";
