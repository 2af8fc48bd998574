/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the kernel's routing table answered last, for a second: many new sessions go between the same two addresses.
 * Each CPU remembers for itself; where two questions share a place the later answer stands there.
 */
#pragma once

#include "next_hop.h"

/* As route_lookup, for packets that are forwarded and not the gateway's. */
__noinline enum route route_cached(ctx_t *ctx, struct route_query *query, __u16 epoch)
{
	struct route_cache_entry *entry;
	enum route route;
	__u32 tick = clock_tick(), place;

	if (!query)
		return ROUTE_NONE;
	place = hash_words((__u64)query->source << 32 | query->destination, query->ingress) & (ROUTE_CACHE - 1);
	entry = bpf_map_lookup_elem(&route_cache, &place);
	if (!entry)
		return route_lookup(ctx, query);
	if (entry->number && entry->source == query->source && entry->destination == query->destination &&
	    entry->ingress == query->ingress && entry->epoch == epoch && tick - entry->stamp < NEXT_HOP_FRESH) {
		query->number = entry->number;
		query->side = entry->side;
		return ROUTE_FOUND;
	}
	route = route_lookup(ctx, query);
	*entry = (struct route_cache_entry){
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
