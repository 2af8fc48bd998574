/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether a packet opens a flow or answers one, told from the packet alone: for traffic that has no sessions. Pure: no
 * map.
 */
#pragma once

#include <linux/in.h>
#include <bpf/bpf_endian.h>
#include <stdbool.h>

/* Ports from which on hosts take those of their own flows (Linux takes 32768 to 60999, RFC 6335 those from 49152). */
#define OPENING_PORTS 32768

/* flags: byte 13 of TCP's header. The port is in network byte order. What opens nothing is an answer, or comes later. */
static __always_inline bool opens(__u8 protocol, __u8 flags, __u16 destination_port)
{
	const __u8 syn = 0x02, ack = 0x10;

	return protocol == IPPROTO_TCP ? (flags & (syn | ack)) == syn : bpf_ntohs(destination_port) < OPENING_PORTS;
}
