/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whose flow an IPv6 packet is of, told from the packet alone: of one that its sender began, or of one that the other
 * end did. A few extension headers are walked (RFC 8200 section 4); what hides its protocol behind more of them, or has
 * it cut off, is of a protocol that says nothing.
 */
#pragma once

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ipv6.h>
#include <bpf/bpf_helpers.h>

#include "../include/ctx.h"
#include "link6.h"
#include "opening.h"

#define ICMP6_ECHO_REPLY 129 /* RFC 4443 */

enum header6_limit {
	HEADER6_MOST = 6,    /* extension headers */
	HEADER6_REACH = 512, /* bytes of the frame within which the protocol's header begins; a power of two */
};

enum opening6 {
	OPENING6_NONE,	 /* the network's own: not judged */
	OPENING6_SENDER, /* its sender began the flow */
	OPENING6_OTHER,	 /* the other end did */
	OPENING6_EITHER, /* nobody can tell */
};

/* What tells whose flow a packet is of. */
struct header6 {
	__u8 protocol;
	__u16 source; /* ports of TCP and UDP, in network byte order; 0 where they are not known */
	__u16 destination;
};

/* So many bytes of the frame from there on, 0 where they are not there or too far away. */
static __always_inline const __u8 *header6_at(ctx_t *ctx, __u32 offset, __u32 length)
{
	const __u8 *at = (void *)(long)ctx->data;

	if (offset >= HEADER6_REACH)
		return 0;
	asm volatile("%0 &= %1" : "+r"(offset) : "i"(HEADER6_REACH - 1)); /* for the verifier */
	at += offset;
	return (void *)(at + length) <= (void *)(long)ctx->data_end ? at : 0;
}

/* RFC 4443: types below 128 are errors. RFC 4861: neighbour discovery that was forwarded on its way says nothing. */
static __always_inline bool icmp6_is_network(const struct ipv6hdr *ip, __u8 type)
{
	return type < 128 || is_discovery6(ip, type);
}

static __always_inline bool is_served(__u16 port)
{
	return bpf_ntohs(port) < OPENING_PORTS;
}

/* In the middle of a flow of TCP the ports tell, where only one of them is of those that hosts take for their own flows. */
static __always_inline enum opening6 tcp6_opening(__u8 flags, __u16 source, __u16 destination)
{
	const __u8 syn = 0x02;

	if (flags & syn)
		return opens(IPPROTO_TCP, flags, destination) ? OPENING6_SENDER : OPENING6_OTHER;
	if (is_served(source) == is_served(destination))
		return OPENING6_EITHER;
	return is_served(destination) ? OPENING6_SENDER : OPENING6_OTHER;
}

/*
 * Whoever is outside may choose its own port, so that the port inside tells. From inside also the other one must say
 * that it is an answer: a flow between two high ports is one from inside, whichever way the packet goes.
 */
static __always_inline enum opening6 udp6_opening(__u16 source, __u16 destination, bool inward)
{
	if (opens(IPPROTO_UDP, 0, destination) || (!inward && !is_served(source)))
		return OPENING6_SENDER;
	return OPENING6_OTHER;
}

static __always_inline enum opening6 header6_opening(ctx_t *ctx, const struct ipv6hdr *ip, bool inward,
						     struct header6 *found)
{
	__u32 offset = ETH_HLEN + sizeof(*ip), i;
	__u8 protocol = ip->nexthdr;
	const __u8 *header;

	for (i = 0; i < HEADER6_MOST; i++) {
		if (protocol != IPPROTO_HOPOPTS && protocol != IPPROTO_ROUTING && protocol != IPPROTO_DSTOPTS &&
		    protocol != IPPROTO_FRAGMENT && protocol != IPPROTO_AH)
			break;
		header = header6_at(ctx, offset, 8);
		if (!header)
			return OPENING6_SENDER;
		if (protocol == IPPROTO_FRAGMENT && (header[2] || header[3] & 0xf8)) {
			found->protocol = IPPROTO_FRAGMENT;
			return OPENING6_EITHER; /* of no use without the first one, which says more */
		}
		if (protocol == IPPROTO_FRAGMENT)
			offset += 8;
		else if (protocol == IPPROTO_AH)
			offset += (header[1] + 2) * 4;
		else
			offset += (header[1] + 1) * 8;
		protocol = header[0];
	}
	if (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP && protocol != IPPROTO_ICMPV6)
		return OPENING6_SENDER;
	header = header6_at(ctx, offset, protocol == IPPROTO_TCP ? 14 : 4); /* of TCP as far as the flags */
	if (!header)
		return OPENING6_SENDER;
	if (protocol == IPPROTO_ICMPV6 && icmp6_is_network(ip, header[0]))
		return OPENING6_NONE;
	if (protocol == IPPROTO_ICMPV6)
		return header[0] == ICMP6_ECHO_REPLY ? OPENING6_OTHER : OPENING6_SENDER;
	found->protocol = protocol;
	found->source = *(__u16 *)header;
	found->destination = *(__u16 *)(header + 2);
	if (protocol == IPPROTO_UDP)
		return udp6_opening(found->source, found->destination, inward);
	header = header6_at(ctx, offset, 14);
	if (!header) /* it is there: for the verifier */
		return OPENING6_SENDER;
	return tcp6_opening(header[13], found->source, found->destination);
}
