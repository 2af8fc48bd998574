/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads a frame. Decides what can be translated at all; everything else ends here with a reason. */
#pragma once

#include "basic.h"
#include "fragment_parse.h"
#include "options.h"
#include "packet.h"

static __always_inline enum reason packet_parse_udp(ctx_t *ctx, struct packet *packet, void *l4, void *end,
						    __u16 l4_length)
{
	struct udphdr *udp = l4;
	__u16 length;

	if ((void *)(udp + 1) > end || l4_length < sizeof(*udp))
		return REASON_DROP_MALFORMED;
	length = bpf_ntohs(udp->len);
	if (length < sizeof(*udp) || length > l4_length || !udp->dest)
		return REASON_DROP_MALFORMED;
	packet->tuple.source_port = udp->source;
	packet->tuple.destination_port = udp->dest;
	packet->wire_length = packet_wire_length(ctx, packet, sizeof(*udp));
	packet->sum = udp->check ? packet_sum(ctx, packet, length, udp->check) : sum_of_none(ctx);
	return REASON_NONE;
}

static __always_inline enum reason packet_parse_tcp(ctx_t *ctx, struct packet *packet, void *l4, void *end,
						    __u16 l4_length)
{
	struct tcphdr *tcp = l4;
	enum reason reason;

	if ((void *)(tcp + 1) > end || l4_length < sizeof(*tcp))
		return REASON_DROP_MALFORMED;
	if (tcp->doff * 4 < sizeof(*tcp) || tcp->doff * 4 > l4_length)
		return REASON_DROP_MALFORMED;
	reason = packet_read_tcp(packet, tcp);
	if (reason != REASON_NONE)
		return reason;
	packet->wire_length = packet_wire_length(ctx, packet, tcp->doff * 4);
	packet->sum = packet_sum(ctx, packet, l4_length, tcp->check);
	return REASON_NONE;
}

static __always_inline enum reason packet_parse_icmp(struct packet *packet, void *l4, void *end, __u16 l4_length)
{
	struct icmphdr *icmp = l4;

	if ((void *)(icmp + 1) > end || l4_length < sizeof(*icmp))
		return REASON_DROP_MALFORMED;
	switch (icmp->type) {
	case ICMP_ECHO:
		packet->tuple.source_port = icmp->un.echo.id;
		return REASON_NONE;
	case ICMP_ECHOREPLY:
		packet->tuple.destination_port = icmp->un.echo.id;
		packet->reply = true;
		return REASON_NONE;
	case ICMP_DEST_UNREACH:
	case ICMP_TIME_EXCEEDED:
	case ICMP_PARAMETERPROB:
		packet->kind = PACKET_ICMP_ERROR;
		return REASON_NONE;
	}
	return REASON_DROP_ICMP_TYPE;
}

/* UDP-Lite's sum covers the header and more, or all (RFC 3828 section 3.1), and is never 0. */
static __always_inline bool udplite_is_malformed(const struct udphdr *udp, __u16 l4_length)
{
	__u16 coverage = bpf_ntohs(udp->len);

	return !udp->check || (coverage && (coverage < sizeof(*udp) || coverage > l4_length));
}

/* What is translated by address alone. Of an aggregate nobody here knows how much is headers. */
__noinline enum reason packet_parse_basic(ctx_t *ctx, struct packet *packet)
{
	__u16 least, length;
	struct udphdr udp;

	if (!packet)
		return REASON_DROP_INTERNAL;
	least = basic_least(packet->tuple.protocol);
	length = packet->ip_length - (packet->l4 - ETH_HLEN);
	if (!least)
		return REASON_DROP_PROTOCOL;
	if (length < least)
		return REASON_DROP_MALFORMED;
	if (ctx_segment_size(ctx))
		packet->wire_length = 0;
	if (!basic_has_sum(packet->tuple.protocol))
		return REASON_NONE;
	if (ctx_load(ctx, packet->l4, &udp, sizeof(udp)))
		return REASON_DROP_MALFORMED;
	if (packet->tuple.protocol == IPPROTO_UDPLITE && udplite_is_malformed(&udp, length))
		return REASON_DROP_MALFORMED;
	packet->sum = sum_of_none(ctx); /* nothing leaves these to an interface */
	return REASON_NONE;
}

/* RFC 1812 §5.2.2: what has a bad header checksum goes nowhere. */
static __always_inline bool header_checksum_is_wrong(ctx_t *ctx, const struct iphdr *ip, __u16 header)
{
	const __u32 *word = (const __u32 *)ip;

	if (header > sizeof(*ip))
		return checksum_bytes(ctx, ETH_HLEN, header, 0) != 0xffff;
	return checksum_fold((__u64)word[0] + word[1] + word[2] + word[3] + word[4]) != 0xffff;
}

static __always_inline enum reason packet_parse_ip(ctx_t *ctx, struct packet *packet, void *end)
{
	struct iphdr *ip = (void *)(long)ctx->data + ETH_HLEN;
	__u16 header, l4_length;
	void *l4;

	if ((void *)(ip + 1) > end || ip->version != 4)
		return REASON_DROP_MALFORMED;
	header = ip->ihl * 4;
	packet->ip_length = bpf_ntohs(ip->tot_len);
	packet->wire_length = packet->ip_length;
	if (header < sizeof(*ip) || packet->ip_length < header || !ctx_holds(ctx, ETH_HLEN + packet->ip_length))
		return REASON_DROP_MALFORMED;
	if (header_checksum_is_wrong(ctx, ip, header))
		return REASON_DROP_BAD_CHECKSUM;
	packet->tuple.source = ip->saddr;
	packet->tuple.destination = ip->daddr;
	packet->tuple.protocol = ip->protocol;
	packet->ttl = ip->ttl;
	packet->dont_fragment = !!(ip->frag_off & bpf_htons(IP_DONT_FRAGMENT));
	packet->l4 = ETH_HLEN + header;
	if (address_is_link_local(ip->daddr))
		return REASON_TO_GATEWAY;
	if (header > sizeof(*ip)) {
		enum reason reason = options_judge(ctx, header - sizeof(*ip));

		if (reason != REASON_NONE)
			return reason;
		ctx_pull(ctx, packet->l4 + sizeof(struct tcphdr));
		ip = (void *)(long)ctx->data + ETH_HLEN;
		end = (void *)(long)ctx->data_end;
		if ((void *)(ip + 1) > end)
			return REASON_DROP_MALFORMED;
	}
	if (address_is_bad(ip->saddr))
		return REASON_DROP_BAD_ADDRESS;
	if (address_is_bad(ip->daddr))
		return bpf_ntohl(ip->daddr) >> 28 == 0xe ? REASON_DROP_MULTICAST : REASON_DROP_BAD_ADDRESS;
	if (sum_is_misplaced(ctx, packet->l4, ip->protocol))
		return REASON_DROP_MALFORMED;
	if (ip->frag_off & bpf_htons(IP_MORE_FRAGMENTS | IP_OFFSET))
		return fragment_parse(ctx, packet);
	l4 = (void *)ip + header;
	l4_length = packet->ip_length - header;
	switch (ip->protocol) {
	case IPPROTO_UDP:
		return packet_parse_udp(ctx, packet, l4, end, l4_length);
	case IPPROTO_TCP:
		return packet_parse_tcp(ctx, packet, l4, end, l4_length);
	case IPPROTO_ICMP:
		return packet_parse_icmp(packet, l4, end, l4_length);
	}
	return packet_parse_basic(ctx, packet);
}

/* REASON_NONE when there is more to do; packet->kind then says what. */
static __always_inline enum reason packet_parse(ctx_t *ctx, struct packet *packet)
{
	struct ethhdr *eth;
	void *end;

	ctx_pull(ctx, PACKET_HEADERS);
	eth = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	if ((void *)(eth + 1) > end)
		return REASON_DROP_MALFORMED;
	if (ctx_is_tagged(ctx))
		return REASON_DROP_VLAN;
	packet->link_broadcast = eth->h_dest[0] & 1;
	switch (eth->h_proto) {
	case bpf_htons(ETH_P_IP):
		return packet_parse_ip(ctx, packet, end);
	case bpf_htons(ETH_P_ARP):
		packet->kind = PACKET_ARP;
		return REASON_NONE;
	case bpf_htons(ETH_P_IPV6):
		packet->kind = PACKET_IPV6;
		return REASON_NONE;
	case bpf_htons(ETH_P_8021Q):
	case bpf_htons(ETH_P_8021AD):
		return REASON_DROP_VLAN;
	}
	return REASON_DROP_ETHERTYPE;
}
