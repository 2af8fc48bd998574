/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What may pass, decided once per flow and generation. There is one built-in chain: it accepts what NAT and pool
 * allow, which for a session from the pool means that its service is still open.
 */
#pragma once

#include "maps.h"

/* A service is open to the generation that put it there and to older ones. how: origin << 8 | flags of the session. */
__noinline enum reason chain_judge(__u32 private_address, __u16 private_port, __u8 protocol, __u16 how,
				   __u32 generation)
{
	struct service service = {.host = private_address};
	__u32 *known;

	if (how >> 8 != ORIGIN_POOL)
		return REASON_NONE;
	if (!(how & SESSION_WHOLE_HOST)) {
		service.port = private_port;
		service.protocol = protocol;
	}
	known = bpf_map_lookup_elem(&service_table, &service);
	return known && (__s32)(*known - generation) >= 0 ? REASON_NONE : REASON_DROP_SERVICE_CLOSED;
}
