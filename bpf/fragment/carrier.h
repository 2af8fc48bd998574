/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The release of held fragments. A program gives one frame for one frame, so the first fragment is sent in as many copies
 * as there are slots, by a pair of interfaces of the gateway's own; each that arrives becomes what is in one slot, and goes
 * the ordinary way (carrier_side.h). A frame of XDP is copied by broadcast to a map that has that interface several times,
 * and is itself the last of them.
 */
#pragma once

#include "hold.h"
#include "../include/verdict.h"

#define CARRIER_KIND   0x52
#define CARRIER_REPLAY 0x57 /* internal/datapath/replay.go */
#define CARRIER_TWICE  0x58 /* and once more before anybody can answer the first */
#define CARRIER_AGAIN  0x59 /* of a hairpin, between its two ways */
#define CARRIER_BY     4    /* where the first two have their interface, host byte order */
#define CARRIER_COPY   0xffff

#ifndef CTX_SKB
#define CARRIER(copies) TABLE(carrier_##copies, BPF_MAP_TYPE_DEVMAP, __u32, __u32, copies, 0)

CARRIER(2);
CARRIER(3);
CARRIER(4);
CARRIER(5);
CARRIER(6);
CARRIER(7);
CARRIER(8);
CARRIER(9);

static __always_inline int carrier_broadcast(ctx_t *ctx, __u32 copies)
{
	switch (copies) {
	case 2:
		return bpf_redirect_map(&carrier_2, 0, BPF_F_BROADCAST);
	case 3:
		return bpf_redirect_map(&carrier_3, 0, BPF_F_BROADCAST);
	case 4:
		return bpf_redirect_map(&carrier_4, 0, BPF_F_BROADCAST);
	case 5:
		return bpf_redirect_map(&carrier_5, 0, BPF_F_BROADCAST);
	case 6:
		return bpf_redirect_map(&carrier_6, 0, BPF_F_BROADCAST);
	case 7:
		return bpf_redirect_map(&carrier_7, 0, BPF_F_BROADCAST);
	case 8:
		return bpf_redirect_map(&carrier_8, 0, BPF_F_BROADCAST);
	}
	return bpf_redirect_map(&carrier_9, 0, BPF_F_BROADCAST);
}
#endif

static __always_inline __u32 carrier_ways(__u8 ways)
{
	__u32 count = 0;

#pragma unroll
	for (int way = 0; way < HOLD_WAYS; way++)
		count += ways >> way & 1;
	return count;
}

/*
 * Sends copies of a first fragment that was translated, so that each becomes one of those that are held. hop: where the
 * first goes itself. An action when it has gone with them, or -1.
 */
#define CARRIER_STAYS -18 /* no action of any hook: the frame is still here */

__noinline int carrier_release(ctx_t *ctx, __u16 hop, enum side side)
{
	struct fragment_here *here = fragment_here();
	struct carrier_message message = {.kind = CARRIER_KIND, .side = side, .hop = hop};
	__u32 place = CARRIER_FRAGMENTS, *carrier = bpf_map_lookup_elem(&carrier_table, &place);

	if (!here || !carrier || !*carrier)
		return CARRIER_STAYS;
	message.set = here->set;
	message.ways = here->ways;
	message.tag[0] = here->held >> 16;
	message.tag[1] = here->held >> 32;
	message.tag[2] = here->held >> 48;
#ifdef CTX_SKB
	message.hop = CARRIER_COPY;
	if (ctx_store(ctx, 0, &message, sizeof(message)))
		return CARRIER_STAYS;
	for (__u32 copy = carrier_ways(message.ways); copy && copy <= HOLD_WAYS; copy--)
		bpf_clone_redirect(ctx, *carrier, 0);
	return CARRIER_STAYS;
#else
	if (ctx_store(ctx, 0, &message, sizeof(message)))
		return CARRIER_STAYS;
	return carrier_broadcast(ctx, carrier_ways(message.ways) + 1);
#endif
}
