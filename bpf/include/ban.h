/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bans: packets from and to a remote address that are dropped, whatever else would let them pass.
 */
#pragma once

#include "maps.h"
#include "packet.h"

__noinline bool is_banned(__u32 remote)
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

/* What has no IPv4 source, as ARP, is nobody's. */
__noinline bool source_is_banned(const struct packet *packet)
{
	return packet && packet->tuple.source && is_banned(packet->tuple.source);
}
