/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whose ARP the kernel gets to see. It learns link addresses from senders: of those that nobody on the link can have it
 * learns nothing. Questions that the data plane answers itself teach it nothing either, and are answered to anybody.
 */
#pragma once

#include "../answer/answer.h"
#include "../include/errno.h"
#include "next_hop.h"

/*
 * Whether the kernel sends to the address by this interface without a next hop between: it is in a network of the
 * interface, or a route leads to it there. A next hop that is in none is found by the route over it.
 */
static __always_inline bool is_on_link(ctx_t *ctx, const struct interface *interface, __u32 address)
{
	const __u32 flags = BPF_FIB_LOOKUP_OUTPUT | BPF_FIB_LOOKUP_SKIP_NEIGH;
	struct bpf_fib_lookup fib = {.family = AF_INET, .ifindex = ctx_ifindex(ctx), .tot_len = 1};
	long code;

	fib.ipv4_src = interface->address;
	fib.ipv4_dst = address;
	code = bpf_fib_lookup(ctx, &fib, sizeof(fib), flags);
	if (code == -EINVAL) /* before Linux 6.3 */
		code = bpf_fib_lookup(ctx, &fib, sizeof(fib), BPF_FIB_LOOKUP_OUTPUT);
	switch (code) {
	case BPF_FIB_LKUP_RET_SUCCESS:
	case BPF_FIB_LKUP_RET_NO_NEIGH:
		return fib.family == AF_INET && fib.ipv4_dst == address && fib.ifindex == ctx_ifindex(ctx);
	case BPF_FIB_LKUP_RET_FWD_DISABLED: /* the kernel says nothing while the interface is got ready */
		return true;
	default: /* a client that asks for a lease looks whether somebody has the address */
		return !interface->address;
	}
}

/* REASON_TO_GATEWAY, or why the kernel does not get to see it. Senders without an address only ask (RFC 5227). */
__noinline enum reason arp_admit(ctx_t *ctx)
{
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct arp_ipv4 *arp = (void *)(eth + 1);
	struct in6 mapped = {{0, 0, bpf_htonl(0xffff), 0}};
	__u32 ifindex = ctx_ifindex(ctx), sender;
	struct interface *interface = bpf_map_lookup_elem(&interface_table, &ifindex);

	if ((void *)(arp + 1) > (void *)(long)ctx->data_end)
		return REASON_DROP_MALFORMED;
	__builtin_memcpy(&sender, arp->sender, 4);
	/* Whatever it calls its hardware: the kernel takes more than Ethernet's number. */
	if (arp->protocol != bpf_htons(ETH_P_IP) || !sender || !interface)
		return REASON_TO_GATEWAY;
	mapped.word[3] = sender;
	if (bpf_map_lookup_elem(&own_addresses, &mapped) || !is_on_link(ctx, interface, sender))
		return REASON_DROP_ARP_SENDER;
	return REASON_TO_GATEWAY;
}
