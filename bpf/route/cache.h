/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the kernel's routing table answered last, for a second: many new sessions go between the same two addresses.
 * Each CPU remembers for itself; where two questions share a place the later answer stands there.
 */
#pragma once

#include "next_hop.h"

/* As route_lookup, for packets that are forwarded and not the gateway's. */
__noinline enum route route_recall(ctx_t *ctx, struct route_query *query, __u16 epoch)
{
	struct route_answer *answer;
	enum route route;
	__u32 tick = clock_tick(), place;

	if (!query)
		return ROUTE_NONE;
	place = hash_words((__u64)query->source << 32 | query->destination, query->ingress) & (ROUTE_ANSWERS - 1);
	answer = bpf_map_lookup_elem(&route_answers, &place);
	if (!answer)
		return route_lookup(ctx, query);
	if (answer->number && answer->source == query->source && answer->destination == query->destination &&
	    answer->ingress == query->ingress && answer->epoch == epoch && tick - answer->stamp < NEXT_HOP_FRESH) {
		query->number = answer->number;
		query->side = answer->side;
		return ROUTE_FOUND;
	}
	route = route_lookup(ctx, query);
	*answer = (struct route_answer){
		.source = query->source,
		.destination = query->destination,
		.ingress = query->ingress,
		.stamp = tick,
		.number = route == ROUTE_FOUND ? query->number : 0,
		.epoch = epoch,
		.side = query->side,
	};
	return route;
}
