/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether a packet opens a flow or answers one, told from the packet alone: for traffic that has no sessions. Pure: no
 * map.
 */
#pragma once

#include <linux/in.h>
#include <linux/in6.h>
#include <bpf/bpf_endian.h>
#include <stdbool.h>

/* Ports from which on hosts take those of their own flows (Linux takes 32768 to 60999, RFC 6335 those from 49152). */
#define OPENING_PORTS 32768

/*
 * detail: the flags of TCP (byte 13 of its header), the type of ICMP and ICMPv6. The port is in network byte order. What
 * opens nothing is an answer, or comes later in a flow of TCP. Of a protocol that says nothing each packet opens.
 */
static __always_inline bool opens(__u8 protocol, __u8 detail, __u16 destination_port)
{
	const __u8 syn = 0x02, ack = 0x10, echo = 8, echo6 = 128;

	switch (protocol) {
	case IPPROTO_TCP:
		return (detail & (syn | ack)) == syn;
	case IPPROTO_UDP:
		return bpf_ntohs(destination_port) < OPENING_PORTS;
	case IPPROTO_ICMP:
		return detail == echo;
	case IPPROTO_ICMPV6:
		return detail == echo6;
	}
	return true;
}
