/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The route of the honeypot's answers: where the kernel's routes send packets to that address, whatever link address
 * the SYN came from. A neighbour who takes the address of somebody else sees no answer.
 */
#pragma once

#include "../include/budget.h"
#include "../include/maps.h"
#include "../route/next_hop.h"

#define AF_INET6		     10
#define HONEYPOT_ANSWERS_PER_TICK    256  /* SYNs answered: about 1,000 a second */
#define HONEYPOT_UNRESOLVED_PER_TICK 16	  /* of these: the kernel remembers each neighbour that it asks for */
#define HONEYPOT_ACKS_PER_TICK	     4096 /* ACKs looked at: about 15,000 a second, of 2^29 to guess one */

static __always_inline __u64 *honeypot_budget(enum answer_budget which)
{
	__u32 key = which;

	return bpf_map_lookup_elem(&answer_budgets, &key);
}

struct reply_route {
	__u8 destination[6];
	__u8 source[6];
	__u32 ifindex; /* 0: the kernel sends it */
};

/* The route back to the sender of the packet; false where that is not outside, or enough were answered. */
__noinline bool honeypot_route(ctx_t *ctx, struct reply_route *route)
{
	struct bpf_fib_lookup fib = {.family = AF_INET, .ifindex = ctx_ifindex(ctx), .tot_len = 1};
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct iphdr *ip4 = (void *)(eth + 1);
	struct ipv6hdr *ip6 = (void *)(eth + 1);
	__u64 *budget = honeypot_budget(HONEYPOT_BUDGET_ANSWERS);
	struct interface *interface;
	bool own = false;
	long code;

	if (!route || !budget || budget_spent(budget) >= HONEYPOT_ANSWERS_PER_TICK ||
	    (void *)(ip4 + 1) > (void *)(long)ctx->data_end)
		return false;
	if (ip4->version == 4) {
		fib.ipv4_src = ip4->daddr;
		fib.ipv4_dst = ip4->saddr;
	} else {
		if ((void *)(ip6 + 1) > (void *)(long)ctx->data_end)
			return false;
		fib.family = AF_INET6;
		__builtin_memcpy(fib.ipv6_src, &ip6->daddr, sizeof(fib.ipv6_src));
		__builtin_memcpy(fib.ipv6_dst, &ip6->saddr, sizeof(fib.ipv6_dst));
	}
	code = bpf_fib_lookup(ctx, &fib, sizeof(fib), 0);
	if (code == BPF_FIB_LKUP_RET_NOT_FWDED) { /* by the host's rules for what it sends itself, by this interface */
		own = true;
		code = bpf_fib_lookup(ctx, &fib, sizeof(fib), BPF_FIB_LOOKUP_OUTPUT);
	}
	/*
	 * The kernel tells nothing then, as on a single machine: back by the way that it came. Whoever takes the address
	 * of somebody else on that link could do so by ARP.
	 */
	if (code == BPF_FIB_LKUP_RET_FWD_DISABLED) {
		__builtin_memcpy(route->destination, eth->h_source, 6);
		__builtin_memcpy(route->source, eth->h_dest, 6);
		route->ifindex = ctx_ifindex(ctx);
		return true;
	}
	if (code != BPF_FIB_LKUP_RET_SUCCESS &&
	    (code != BPF_FIB_LKUP_RET_NO_NEIGH || budget_spent(budget) >= HONEYPOT_UNRESOLVED_PER_TICK))
		return false;
	interface = bpf_map_lookup_elem(&interface_table, &fib.ifindex);
	if (!interface || interface->side != SIDE_PUBLIC)
		return false;
	if (code == BPF_FIB_LKUP_RET_SUCCESS && interface->redirect >= CTX_REDIRECTS) {
		__builtin_memcpy(route->destination, fib.dmac, 6);
		__builtin_memcpy(route->source, fib.smac, 6);
		route->ifindex = fib.ifindex;
		return true;
	}
	if (own) /* the kernel would forward it, and knows no route */
		return false;
	/* To the gateway, so that the kernel forwards it: it asks for the link address. */
	__builtin_memcpy(route->destination, eth->h_dest, 6);
	__builtin_memcpy(route->source, eth->h_source, 6);
	route->ifindex = 0;
	return true;
}
