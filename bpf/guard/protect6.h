/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Asks the protection of a generation (protection6.bpf.c) about an IPv6 packet that is to be forwarded, or comes from
 * outside for the gateway itself.
 */
#pragma once

#include "../include/maps.h"
#include "../route/next_hop.h"
#include "../include/reason.h"
#include "honeypot6.h"

/* The program of the generation returns here. SAID_NOTHING: it is not there, or cannot say. */
__noinline int protect6_run(ctx_t *ctx, __u32 generation)
{
	int action = SAID_NOTHING;

	if (generation & 1)
		bpf_tail_call(ctx, &programs, PROGRAM_PROTECTION6_ODD);
	else
		bpf_tail_call(ctx, &programs, PROGRAM_PROTECTION6_EVEN);
	asm volatile("" : "+r"(action)); /* or the compiler takes it for what the program returns, too */
	return action;
}

/* Whether a packet goes from one private network to another, which is never asked about. */
__noinline bool stays_inside6(ctx_t *ctx)
{
	struct ipv6hdr *ip = (void *)(long)ctx->data + ETH_HLEN;
	struct bpf_fib_lookup fib = {.family = AF_INET6, .ifindex = ctx_ifindex(ctx), .tot_len = 1};
	struct interface *interface;
	long code;

	if ((void *)(ip + 1) > (void *)(long)ctx->data_end)
		return false;
	__builtin_memcpy(fib.ipv6_src, &ip->saddr, sizeof(fib.ipv6_src));
	__builtin_memcpy(fib.ipv6_dst, &ip->daddr, sizeof(fib.ipv6_dst));
	code = bpf_fib_lookup(ctx, &fib, sizeof(fib), 0);
	if (code != BPF_FIB_LKUP_RET_SUCCESS && code != BPF_FIB_LKUP_RET_NO_NEIGH)
		return false;
	interface = bpf_map_lookup_elem(&interface_table, &fib.ifindex);
	return interface && interface->side == SIDE_PRIVATE;
}

/* REASON_NONE, or why the packet is dropped. The route is looked up only for what would be, as it takes longer. */
static __always_inline enum reason protect6(ctx_t *ctx, __u32 generation, enum side side)
{
	struct nf_packet *nf = nf_packet();
	struct nf_count *count;
	int action;

	if (!nf)
		return REASON_DROP_INTERNAL;
	nf->direction = side == SIDE_PUBLIC ? NF_IN : NF_OUT;
	nf->function = 0;
	nf->answers = false;
	nf->honeypot = NF_HONEYPOT_NONE;
	action = protect6_run(ctx, generation);
	if (nf->honeypot == NF_HONEYPOT_HIT && honeypot6_is_completed(ctx))
		return REASON_DROP_HONEYPOT;
	if (action == SAID_PASS)
		return REASON_NONE;
	if (action != SAID_DROP)
		return REASON_DROP_INTERNAL;
	if (side == SIDE_PRIVATE && stays_inside6(ctx))
		return REASON_NONE;
	count = nf_count(nf->function);
	if (count)
		count->dropped++;
	return nf->honeypot == NF_HONEYPOT_HIT && !nf->answers ? REASON_DROP_HONEYPOT : REASON_DROP_DENIED;
}
