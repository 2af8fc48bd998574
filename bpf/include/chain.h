/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What may pass, decided once per flow and generation. There is one built-in chain: it accepts what NAT and pool
 * allow, which for a session from the pool means that its service is still open.
 */
#pragma once

#include "maps.h"

__noinline enum reason chain_judge(__u32 private_address, __u16 private_port, __u8 protocol, __u8 origin, __u8 flags)
{
	struct service service = {.host = private_address};

	if (origin != ORIGIN_POOL)
		return REASON_NONE;
	if (!(flags & SESSION_WHOLE_HOST)) {
		service.port = private_port;
		service.protocol = protocol;
	}
	return bpf_map_lookup_elem(&service_table, &service) ? REASON_NONE : REASON_DROP_SERVICE_CLOSED;
}
