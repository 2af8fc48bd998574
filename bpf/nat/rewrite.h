/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Translation of headers in place, with the checksum differences that the session brought along.
 */
#pragma once

#include "../packet/packet.h"
#include "../conntrack/session.h"

/* Moves the port (or ICMP identifier) and checksum; deltas are given in the direction of travel. */
static __always_inline bool rewrite_l4(ctx_t *ctx, void *l4, void *end, const struct packet *packet, bool source,
				       __u16 port, __u16 delta, __u16 address_delta)
{
	switch (packet->tuple.protocol) {
	case IPPROTO_UDP: {
		struct udphdr *udp = l4;

		if ((void *)(udp + 1) > end)
			return false;
		if (source)
			udp->source = port;
		else
			udp->dest = port;
		if (udp->check) { /* zero says: none (RFC 768), and stays so */
			udp->check = sum_update(packet->sum, udp->check, delta, address_delta);
			if (!udp->check)
				udp->check = 0xffff;
		} else { /* nothing makes up for the port; of the addresses the caller tells */
			sum_note(ctx, packet->sum, delta);
		}
		return true;
	}
	case IPPROTO_TCP: {
		struct tcphdr *tcp = l4;

		if ((void *)(tcp + 1) > end)
			return false;
		if (source)
			tcp->source = port;
		else
			tcp->dest = port;
		tcp->check = sum_update(packet->sum, tcp->check, delta, address_delta);
		return true;
	}
	case IPPROTO_ICMP: {
		struct icmphdr *icmp = l4;

		if ((void *)(icmp + 1) > end)
			return false;
		/* The port 0 of the answering side is nowhere in the packet. */
		if (source == (icmp->type == ICMP_ECHO)) {
			icmp->un.echo.id = port;
			icmp->checksum = checksum_update(icmp->checksum, delta);
		}
		return true;
	}
	case IPPROTO_UDPLITE:
	case IPPROTO_DCCP: {
		__u16 *field = l4 + BASIC_SUM_AT;

		if ((void *)(field + 1) > end)
			return false;
		*field = checksum_update(*field, delta);
		if (!*field)
			*field = 0xffff; /* for UDP-Lite; to DCCP it is the same */
		return true;
	}
	}
	return true; /* by its address alone */
}

/* Translates the source (from inside) or the destination (from outside). TTL and Ethernet header stay. */
static __always_inline bool rewrite_packet(ctx_t *ctx, const struct packet *packet, const struct session *session,
					   enum direction direction)
{
	void *end = (void *)(long)ctx->data_end;
	struct iphdr *ip = (void *)(long)ctx->data + ETH_HLEN;
	__u64 offset = packet->l4;
	void *l4;

	barrier_var(offset); /* or the compiler loses the bound that the verifier wants to see */
	if ((void *)(ip + 1) > end || offset > ETH_HLEN + 60)
		return false;
	l4 = (void *)(long)ctx->data + offset;
	barrier_var(l4);
	if (direction == DIRECTION_OUT) {
		if (!rewrite_l4(ctx, l4, end, packet, true, session->external_port, session->l4_delta,
				session->address_delta))
			return false;
		sum_note(ctx, packet->sum, ~session->address_delta);
		ip->saddr = session->external_address;
		ip->check = checksum_update(ip->check, session->address_delta);
		return true;
	}
	if (!rewrite_l4(ctx, l4, end, packet, false, session->private_port, ~session->l4_delta,
			~session->address_delta))
		return false;
	sum_note(ctx, packet->sum, session->address_delta);
	ip->daddr = session->private_address;
	ip->check = checksum_update(ip->check, ~session->address_delta);
	return true;
}
