/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * At tcx a frame may be many packets, or have a checksum that is left to an interface. The header in front is of one packet, and
 * interfaces look for what they are to fill in behind it. So such a frame, translated, goes by a pair of interfaces of the
 * gateway's own, whose near end does neither: the kernel makes packets of it, each whole, and at the far end each gets its
 * header (segment_side.h). Frames of XDP are single packets, whose checksums are filled in here.
 */
#pragma once

#include "../include/verdict.h"
#include "types.h"

#ifdef CTX_SKB

#define EDGE_SEGMENT 0x5a

/* Stands before each of the packets, in the place of link addresses; the protocol stays behind it. */
struct edge_message {
	__u8 kind; /* EDGE_SEGMENT */
	__u8 pad;
	__u16 hash;
	__u32 vni; /* ours, of the link */
	__u32 generation;
};

static __always_inline bool edge_goes_round(ctx_t *ctx, const struct packet *packet)
{
	return ctx_segment_size(ctx) || sum_start(ctx) || packet->sum == SUM_PARTIAL;
}

static __always_inline int edge_go_round(ctx_t *ctx, const struct packet *packet, const struct link *link, __u16 hash)
{
	struct edge_message message = {
		.kind = EDGE_SEGMENT, .hash = hash, .vni = link->vni_here, .generation = packet->generation};
	__u32 place = CARRIER_EDGE, *near = bpf_map_lookup_elem(&carrier_table, &place);

	if (!near || !*near || ctx_store(ctx, 0, &message, sizeof(message)))
		return verdict(ctx, packet, REASON_DROP_INTERNAL, SIDE_PRIVATE);
	return ctx_redirect(ctx, *near);
}

#else

static __always_inline bool edge_goes_round(ctx_t *ctx, const struct packet *packet)
{
	return false;
}

static __always_inline int edge_go_round(ctx_t *ctx, const struct packet *packet, const struct link *link, __u16 hash)
{
	return CTX_DROP;
}

#endif
