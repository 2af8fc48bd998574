/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where packets go next. A session points to the record of its neighbour; the kernel's routing table is asked
 * when the session has none, when routes changed (route_epoch, which the daemon counts) and once a second for each
 * neighbour, so that link addresses stay right also while no daemon runs. Records are never given to another
 * neighbour, nor back.
 */
#pragma once

#include <linux/bpf.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "../include/clock.h"
#include "../include/ctx.h"
#include "../conntrack/index.h"

#define AF_INET		2
#define NEXT_HOP_FRESH	4 /* ticks */
#define NEXT_HOP_PLACES 8

enum route {
	ROUTE_FOUND,	    /* *number is the next hop */
	ROUTE_NO_NEIGHBOUR, /* the kernel knows the way but not the link address */
	ROUTE_INSIDE,	    /* leaves by a private interface */
	ROUTE_OUTSIDE,	    /* leaves by a public interface */
	ROUTE_LOCAL,	    /* the gateway itself */
	ROUTE_NONE,
};

static __always_inline struct next_hop *next_hop_at(__u32 number)
{
	return bpf_map_lookup_elem(&next_hops, &number);
}

/* The record of the neighbour, made if there is none; 0 when its places are taken. */
static __always_inline __u32 next_hop_record(__u32 gateway, __u32 ifindex, __u16 mtu)
{
	union next_hop_key key = {.as = {.gateway = gateway, .ifindex = ifindex, .mtu = mtu}};
	__u32 hash = hash_words(key.word, 0);

	if (ifindex >> 16)
		return 0;

	for (__u32 i = 0; i < NEXT_HOP_PLACES; i++) {
		__u32 number = (hash + i) & (NEXT_HOPS - 1);
		struct next_hop *hop = next_hop_at(number);
		__u64 found;

		if (!hop || number == 0)
			continue;
		found = *(volatile __u64 *)&hop->key.word;
		if (!found)
			found = __sync_val_compare_and_swap(&hop->key.word, 0, key.word);
		if (found == 0 || found == key.word)
			return number;
	}
	return 0;
}

/*
 * Whether packets from the interface may reach the address because it is the gateway's. Addresses of the private
 * side are not for the public realm.
 */
static __always_inline bool own_address(const struct in6 *address, __u32 ingress)
{
	struct interface *interface = bpf_map_lookup_elem(&interface_table, &ingress);
	__u8 *side = bpf_map_lookup_elem(&own_addresses, address);

	return side && interface && (*side != SIDE_PRIVATE || interface->side == SIDE_PRIVATE);
}

struct route_query {
	__u32 source;
	__u32 destination;
	__u32 ingress;
	__u32 number; /* of the next hop found */
	__u32 side;   /* of the interface it leaves by */
	__u32 own;    /* the destination is an address of the gateway, reached from there or not */
};

static __always_inline long route_ask(ctx_t *ctx, const struct route_query *query, struct bpf_fib_lookup *fib,
				      __u32 flags)
{
	__builtin_memset(fib, 0, sizeof(*fib));
	fib->family = AF_INET;
	fib->ipv4_src = query->source;
	fib->ipv4_dst = query->destination;
	fib->ifindex = query->ingress;
	fib->tot_len = 1; /* asks for the MTU */
	return bpf_fib_lookup(ctx, fib, sizeof(*fib), flags);
}

/* Asks the kernel's routing table. */
__noinline enum route route_lookup(ctx_t *ctx, struct route_query *query)
{
	struct bpf_fib_lookup fib;
	struct interface *interface;
	struct next_hop *hop;
	long code;
	bool addressed;

	if (!query)
		return ROUTE_NONE;
	code = route_ask(ctx, query, &fib, 0);
	if (code == BPF_FIB_LKUP_RET_NOT_FWDED) {
		/* The kernel says so of its own addresses, and also where it has no route at all. */
		struct in6 mapped = {{0, 0, bpf_htonl(0xffff), query->destination}};

		query->own = bpf_map_lookup_elem(&own_addresses, &mapped) != 0;
		return own_address(&mapped, query->ingress) ? ROUTE_LOCAL : ROUTE_NONE;
	}
	if (code != BPF_FIB_LKUP_RET_SUCCESS && code != BPF_FIB_LKUP_RET_NO_NEIGH)
		return ROUTE_NONE;
	interface = bpf_map_lookup_elem(&interface_table, &fib.ifindex);
	query->side = interface ? interface->side : 0;
	if (!interface)
		return ROUTE_NONE;
	if (code == BPF_FIB_LKUP_RET_NO_NEIGH && interface->bare) /* nor is one needed */
		code = route_ask(ctx, query, &fib, BPF_FIB_LOOKUP_SKIP_NEIGH);
	if (code != BPF_FIB_LKUP_RET_SUCCESS) /* before Linux 6.3 a bare one, too, until the kernel has sent by it */
		return ROUTE_NO_NEIGHBOUR;
	/*
	 * Where there are no link addresses one record does for all. So it does for next hops of IPv6 on other links (RFC
	 * 5549): the kernel sends what goes there.
	 */
	addressed = fib.family == AF_INET && !interface->bare;
	query->number = next_hop_record(addressed ? fib.ipv4_dst : 0, fib.ifindex, fib.mtu_result);
	hop = next_hop_at(query->number);
	if (!query->number || !hop)
		return ROUTE_NO_NEIGHBOUR; /* the kernel forwards what we cannot remember */
	__builtin_memcpy(hop->destination, fib.dmac, 6);
	__builtin_memcpy(hop->source, fib.smac, 6);
	hop->redirect = addressed || interface->bare ? interface->redirect : REDIRECT_NOTHING;
	hop->stamp = clock_tick();
	return ROUTE_FOUND;
}
