/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a fragment holds. The first of a packet has all of the header behind IP's, and is a packet like others; a later one
 * has none of it (RFC 1858, RFC 3128). Lengths of the whole packet are not judged, nor sums: they are of more than is there.
 */
#pragma once

#include "basic.h"
#include "packet.h"

static __always_inline enum reason first_parse_tcp(struct packet *packet, const struct tcphdr *tcp, __u16 length)
{
	if (tcp->doff * 4 < sizeof(*tcp) || tcp->doff * 4 > length)
		return REASON_DROP_BAD_FRAGMENT;
	return packet_read_tcp(packet, tcp);
}

static __always_inline enum reason first_parse_udp(struct packet *packet, const struct udphdr *udp)
{
	if (bpf_ntohs(udp->len) < sizeof(*udp) || !udp->dest)
		return REASON_DROP_MALFORMED;
	packet->tuple.source_port = udp->source;
	packet->tuple.destination_port = udp->dest;
	return REASON_NONE;
}

/* An ICMP error in fragments is for nobody: what it quotes is not all there. */
static __always_inline enum reason first_parse_icmp(struct packet *packet, const struct icmphdr *icmp)
{
	switch (icmp->type) {
	case ICMP_ECHO:
		packet->tuple.source_port = icmp->un.echo.id;
		return REASON_NONE;
	case ICMP_ECHOREPLY:
		packet->tuple.destination_port = icmp->un.echo.id;
		packet->reply = true;
		return REASON_NONE;
	}
	return REASON_DROP_ICMP_TYPE;
}

static __always_inline enum reason first_parse(ctx_t *ctx, struct packet *packet, __u16 length)
{
	union {
		struct tcphdr tcp;
		struct udphdr udp;
		struct icmphdr icmp;
	} header;
	__u8 protocol = packet->tuple.protocol;
	__u16 least = protocol == IPPROTO_TCP ? sizeof(header.tcp) : sizeof(header.udp);

	if (length < least || ctx_load(ctx, packet->l4, &header.icmp, sizeof(header.icmp)))
		return REASON_DROP_BAD_FRAGMENT;
	switch (protocol) {
	case IPPROTO_TCP:
		if (ctx_load(ctx, packet->l4, &header.tcp, sizeof(header.tcp)))
			return REASON_DROP_BAD_FRAGMENT;
		packet->sum = sum_of_none(ctx);
		return first_parse_tcp(packet, &header.tcp, length);
	case IPPROTO_UDP:
		packet->sum = sum_of_none(ctx);
		return first_parse_udp(packet, &header.udp);
	case IPPROTO_ICMP:
		return first_parse_icmp(packet, &header.icmp);
	}
	if (basic_has_sum(protocol))
		packet->sum = sum_of_none(ctx);
	return REASON_NONE;
}

/* REASON_NONE for a first fragment that can be translated, REASON_DROP_FRAGMENT for a later one. */
__noinline enum reason fragment_parse(ctx_t *ctx, struct packet *packet)
{
	__u16 word[2], length, offset, header; /* identification; flags and offset */
	bool more;

	if (!packet || ctx_load(ctx, ETH_HLEN + __builtin_offsetof(struct iphdr, id), word, sizeof(word)))
		return REASON_DROP_INTERNAL;
	packet->identification = word[0];
	offset = (bpf_ntohs(word[1]) & IP_OFFSET) * 8;
	more = word[1] & bpf_htons(IP_MORE_FRAGMENTS);
	packet->fragment = offset ? FRAGMENT_LATER : FRAGMENT_FIRST;
	header = packet->l4 - ETH_HLEN;
	length = packet->ip_length - header;
	if (!length || (more && length % 8) || (__u32)header + offset + length > 65535)
		return REASON_DROP_BAD_FRAGMENT;
	switch (packet->tuple.protocol) {
	case IPPROTO_TCP:
		if (offset && offset < sizeof(struct tcphdr))
			return REASON_DROP_BAD_FRAGMENT;
		break;
	case IPPROTO_UDP:
	case IPPROTO_ICMP:
		break;
	default:
		if (!basic_least(packet->tuple.protocol))
			return REASON_DROP_PROTOCOL;
	}
	/* Nobody leaves the sum of a part to an interface, and nothing puts parts of different packets together. */
	if (sum_start(ctx) || ctx_segment_size(ctx))
		return REASON_DROP_BAD_FRAGMENT;
	return offset ? REASON_DROP_FRAGMENT : first_parse(ctx, packet, length);
}
