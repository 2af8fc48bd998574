/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What may pass, decided once per flow and generation. There is one built-in chain: it accepts what NAT and pool
 * allow, which for a session from the pool means that its service is still open.
 */
#pragma once

#include "maps.h"

static __always_inline bool service_is_open(__u32 host, __u16 port, __u8 protocol)
{
	struct service service = {.host = host, .port = port, .protocol = protocol};

	if (bpf_map_lookup_elem(&service_table, &service))
		return true;
	service.port = 0;
	service.protocol = 0;
	return bpf_map_lookup_elem(&service_table, &service) != 0;
}

__noinline enum reason chain_judge(__u32 private_address, __u16 private_port, __u8 protocol, __u8 origin)
{
	if (origin == ORIGIN_POOL && !service_is_open(private_address, private_port, protocol))
		return REASON_DROP_SERVICE_CLOSED;
	return REASON_NONE;
}
