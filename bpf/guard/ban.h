/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bans: packets from and to a remote address that are dropped, whatever else would let them pass.
 */
#pragma once

#include "../packet/link6.h"
#include "../include/maps.h"
#include "../packet/packet.h"

static __always_inline bool ban_stands(__u32 remote)
{
	struct banned key = {.bits = 32, .address = remote};
	struct control *control = control_get();
	__u64 *until;

	if (!control || !control->banning)
		return false;
	until = bpf_map_lookup_elem(&banned_addresses, &remote);
	if (until && *until > bpf_ktime_get_boot_ns())
		return true;
	until = control->banning & BANNING_PREFIXES ? bpf_map_lookup_elem(&banned_prefixes, &key) : 0;
	return until && *until > bpf_ktime_get_boot_ns();
}

__noinline bool is_banned(__u32 remote)
{
	bool banned = ban_stands(remote);

	trace_step(TRACE_BAN, banned, remote, 0, 0);
	return banned;
}

/* What has no IPv4 source, as ARP, is nobody's. */
__noinline bool source_is_banned(const struct packet *packet)
{
	return packet && packet->tuple.source && is_banned(packet->tuple.source);
}

static __always_inline bool is_neighbour_discovery(ctx_t *ctx, const struct ipv6hdr *ip)
{
	__u8 *type = (void *)(ip + 1);

	return ip->nexthdr == IPPROTO_ICMPV6 && (void *)(type + 1) <= (void *)(long)ctx->data_end &&
	       is_discovery6(ip, *type);
}

/* Whether the remote end of an IPv6 packet is banned: where it comes from, or from inside where it goes. */
__noinline bool ipv6_is_banned(ctx_t *ctx)
{
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct ipv6hdr *ip = (void *)(eth + 1);
	struct control *control = control_get();
	__u32 ingress = ctx_ifindex(ctx);
	struct banned6 key = {.bits = 128};
	struct interface *interface;
	__u64 *until;

	if (!control || !(control->banning & BANNING_IPV6) || (void *)(ip + 1) > (void *)(long)ctx->data_end ||
	    is_neighbour_discovery(ctx, ip))
		return false;
	interface = bpf_map_lookup_elem(&interface_table, &ingress);
	if (interface && interface->side == SIDE_PRIVATE)
		__builtin_memcpy(&key.address, &ip->daddr, sizeof(key.address));
	else
		__builtin_memcpy(&key.address, &ip->saddr, sizeof(key.address));
	if (is_link_local6(key.address.word[0]))
		return false;
	until = bpf_map_lookup_elem(&banned_prefixes6, &key);
	return until && *until > bpf_ktime_get_boot_ns();
}
