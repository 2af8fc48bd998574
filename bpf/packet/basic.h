/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Protocols that are translated by their addresses alone (Basic NAT, RFC 2663 section 4.1.1). Ports, where they have any, are
 * not looked at and stand as 0: of one protocol, outbound and remote address there is one host inside. AH signs the
 * addresses, and no translation passes it.
 */
#pragma once

#include <linux/in.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#ifndef IPPROTO_UDPLITE
#define IPPROTO_UDPLITE 136
#endif

#define BASIC_SUM_AT 6 /* of UDP-Lite and DCCP, in their headers */

/* The least octets that a packet of such a protocol has behind IP's header; 0 for what is none. */
static __always_inline __u16 basic_least(__u8 protocol)
{
	switch (protocol) {
	case IPPROTO_GRE:
		return 4;
	case IPPROTO_ESP:
	case IPPROTO_UDPLITE:
		return 8;
	case IPPROTO_SCTP:
	case IPPROTO_DCCP:
		return 12;
	case IPPROTO_IPIP:
		return 20;
	case IPPROTO_IPV6:
		return 40;
	}
	return 0;
}

/* Of a packet that can be translated. */
static __always_inline bool is_basic(__u8 protocol)
{
	return protocol != IPPROTO_TCP && protocol != IPPROTO_UDP && protocol != IPPROTO_ICMP;
}

/* Whether the protocol's checksum covers the addresses: all of the pseudo-header, however little of the rest (RFC 3828). */
static __always_inline bool basic_has_sum(__u8 protocol)
{
	return protocol == IPPROTO_UDPLITE || protocol == IPPROTO_DCCP;
}
