// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Entry points of the data plane: one program per side for the hook that it is compiled for (include/ctx.h), and what
 * the daemon runs. All the work is in the folders beside it, one concern a header.
 */
#include "include/export.h"
#include "fragment/side.h"
#include "handshake/datagram.h"
#include "handshake/host.h"
#include "handshake/overflow.h"
#include "handshake/side.h"
#include "path/private_side.h"
#include "path/public_side.h"
#include "path/single_side.h"
#include "tunnel/in_side.h"
#include "tunnel/out_side.h"
#ifdef CTX_SKB
#include "path/single_out.h"
#include "route/bare.h"
#include "fragment/carrier_side.h"
#include "tunnel/segment_side.h"
#else
#include "tasks.h"
#endif

SEC(CTX_SECTION)
int gateway_private(ctx_t *ctx)
{
	return private_side(ctx);
}

SEC(CTX_SECTION)
int gateway_public(ctx_t *ctx)
{
	return public_side(ctx, false);
}

/* In the place of gateway_public where there is no private side. */
SEC(CTX_SECTION)
int gateway_single(ctx_t *ctx)
{
	return single_side(ctx, false);
}

/* The same where there are chains. */
SEC(CTX_SECTION)
int gateway_single_in(ctx_t *ctx)
{
	return single_side(ctx, true);
}

/* Entered from gateway_private by tail call. */
SEC(CTX_SECTION)
int gateway_hairpin(ctx_t *ctx)
{
	return public_side(ctx, true);
}

/* Run by the daemon, over what it sends again of a hairpin. */
SEC(CTX_SECTION)
int gateway_again(ctx_t *ctx)
{
	return hairpin_again(ctx);
}

/* Entered from gateway_public by tail call. */
SEC(CTX_SECTION)
int gateway_question(ctx_t *ctx)
{
	return question_side(ctx);
}

/* Entered from gateway_public by tail call. */
SEC(CTX_SECTION)
int gateway_web(ctx_t *ctx)
{
	return web_side(ctx);
}

/* Entered from gateway_public by tail call. */
SEC(CTX_SECTION)
int gateway_datagram(ctx_t *ctx)
{
	return datagram_side(ctx);
}

/* Entered from gateway_public by tail call. */
SEC(CTX_SECTION)
int gateway_overflow(ctx_t *ctx)
{
	return overflow_side(ctx);
}

/* Entered from gateway_private by tail call. */
SEC(CTX_SECTION)
int gateway_host(ctx_t *ctx)
{
	return host_side(ctx);
}

/* Entered from the programs of both sides by tail call. */
SEC(CTX_SECTION)
int gateway_fragment(ctx_t *ctx)
{
	return fragment_side(ctx);
}

/* Entered from gateway_private by tail call. */
SEC(CTX_SECTION)
int gateway_edge_out(ctx_t *ctx)
{
	return edge_out(ctx);
}

/* Entered from gateway_public by tail call. */
SEC(CTX_SECTION)
int gateway_edge_in(ctx_t *ctx)
{
	return edge_in(ctx);
}

#ifdef CTX_SKB

/* What leaves such a machine. */
SEC(CTX_SECTION)
int gateway_single_out(ctx_t *ctx)
{
	return single_out(ctx);
}

/* Of interfaces without a link header. */
SEC(CTX_SECTION)
int bare_private(ctx_t *ctx)
{
	return bare_enter(ctx, PROGRAM_PRIVATE);
}

SEC(CTX_SECTION)
int bare_public(ctx_t *ctx)
{
	return bare_enter(ctx, PROGRAM_PUBLIC);
}

/* At the far end of the gateway's own pair of interfaces. */
SEC(CTX_SECTION)
int gateway_carrier(ctx_t *ctx)
{
	return carrier_side(ctx);
}

/* The same of the pair by which what is not yet single packets goes to another edge. */
SEC(CTX_SECTION)
int gateway_edge_segment(ctx_t *ctx)
{
	return edge_segment(ctx);
}
#endif

char _license[] SEC("license") = "Dual BSD/GPL";
