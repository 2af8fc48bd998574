/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a frame holds. Parsing decides what can be translated at all; everything else ends here with a reason.
 * An ICMP query's identifier stands as the port of the side that asks, the answering side's port is 0, so that
 * queries look like any other client's flow (RFC 5508 REQ-1).
 */
#pragma once

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#include "basic.h"
#include "options.h"
#include "../include/reason.h"
#include "sum.h"

/* RFC 792; linux/icmp.h would bring in the C library. */
#define ICMP_ECHOREPLY	   0
#define ICMP_DEST_UNREACH  3
#define ICMP_REDIRECT	   5
#define ICMP_ECHO	   8
#define ICMP_TIME_EXCEEDED 11
#define ICMP_PARAMETERPROB 12

#define ICMP_NET_UNREACH  0
#define ICMP_HOST_UNREACH 1
#define ICMP_PKT_FILTERED 13
#define ICMP_FRAG_NEEDED  4
#define ICMP_EXC_TTL	  0

struct icmphdr {
	__u8 type;
	__u8 code;
	__u16 checksum;
	union {
		struct {
			__u16 id;
			__u16 sequence;
		} echo;
		struct {
			__u16 unused;
			__u16 mtu;
		} frag;
	} un;
};

/* What is looked at in place; what stands behind IP options is pulled up when there are any. */
#define PACKET_HEADERS (ETH_HLEN + sizeof(struct iphdr) + sizeof(struct tcphdr))

#define IP_MORE_FRAGMENTS 0x2000
#define IP_DONT_FRAGMENT  0x4000
#define IP_OFFSET	  0x1fff

#define TCP_FLAG_FIN 0x01
#define TCP_FLAG_SYN 0x02
#define TCP_FLAG_RST 0x04
#define TCP_FLAG_ACK 0x10

struct tuple {
	__u32 source;
	__u32 destination;
	__u16 source_port;
	__u16 destination_port;
	__u8 protocol;
};

/* Where a session may stand, record_bucket.h. */
struct record_buckets {
	__u32 first;
	__u32 second;
};

enum packet_kind {
	PACKET_FLOW,	   /* UDP, TCP, an ICMP query, or what is translated by address alone */
	PACKET_ICMP_ERROR, /* carries the packet it is about */
	PACKET_ARP,
	PACKET_IPV6,
};

struct packet {
	struct tuple tuple;
	__u32 generation;	       /* of the policy that judges it: read once */
	struct record_buckets buckets; /* of its session, for packets from inside */
	__u8 kind;
	__u8 tcp_flags;
	__u8 ttl;
	__u8 dont_fragment;
	__u8 hairpin;	     /* came from inside, its source is translated already */
	__u8 reply;	     /* answers an ICMP query */
	__u8 link_broadcast; /* the frame was for many: never forwarded (RFC 1812 §5.3.4) */
	__u16 l4;	     /* offset in the frame */
	__u16 ip_length;     /* of the whole IP packet */
	__u16 sequence;	     /* TCP: the upper half of the number, in network byte order, conntrack/sequence.h */
	__u16 acknowledges;  /* the same */
	__u16 wire_length; /* of an IP packet on the wire: the same, but for an aggregate; 0: the kernel alone knows */
	__u8 sum;	   /* enum sum, of TCP and UDP */
	__u8 fragment;	   /* enum fragment */
	__u16 identification; /* of a fragment, in network byte order */
};

enum reason fragment_parse(ctx_t *ctx, struct packet *packet); /* fragment_parse.h */

static __always_inline bool address_is_bad(__u32 source)
{
	__u8 first = bpf_ntohl(source) >> 24;

	return first == 0 || first == 127 || first >= 224;
}

/* Link-local multicast and the limited broadcast never leave their link: they are for the gateway. */
static __always_inline bool address_is_link_local(__u32 destination)
{
	return destination == 0xffffffff || (bpf_ntohl(destination) & 0xffffff00) == 0xe0000000;
}

/* How the checksum of TCP or UDP is meant; length: of its header and payload. */
static __always_inline enum sum packet_sum(ctx_t *ctx, const struct packet *packet, __u16 length, __u16 field)
{
	const struct tuple *t = &packet->tuple;
	__u64 pseudo = (__u64)t->source + t->destination + bpf_htons(t->protocol) + bpf_htons(length);

	return sum_of(ctx, pseudo, packet->l4, length, field);
}

/* Before the packet is redirected; false where it cannot be. */
static __always_inline bool packet_fill_sum(ctx_t *ctx, const struct packet *packet)
{
	__u32 field = packet->l4 + (packet->tuple.protocol == IPPROTO_TCP ? 16 : 6);

	return sum_fill(ctx, packet->sum, packet->l4, packet->ip_length + ETH_HLEN - packet->l4, field);
}

/* Of an aggregate each packet on the wire has the headers, header octets of TCP or UDP among them. */
static __always_inline __u16 packet_wire_length(ctx_t *ctx, const struct packet *packet, __u16 header)
{
	__u32 size = ctx_segment_size(ctx);

	return size ? packet->l4 - ETH_HLEN + header + size : packet->ip_length;
}

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

/* No sender sets these: FIN or RST with SYN, or none of SYN, RST and ACK (RFC 9293 §3.10.7). FIN with RST resets. */
static __always_inline bool tcp_flags_are_bad(__u8 flags)
{
	if (flags & TCP_FLAG_SYN)
		return flags & (TCP_FLAG_FIN | TCP_FLAG_RST);
	return !(flags & (TCP_FLAG_RST | TCP_FLAG_ACK));
}

static __always_inline enum reason packet_parse_tcp(ctx_t *ctx, struct packet *packet, void *l4, void *end,
						    __u16 l4_length)
{
	struct tcphdr *tcp = l4;

	if ((void *)(tcp + 1) > end || l4_length < sizeof(*tcp))
		return REASON_DROP_MALFORMED;
	if (tcp->doff * 4 < sizeof(*tcp) || tcp->doff * 4 > l4_length || !tcp->source || !tcp->dest)
		return REASON_DROP_MALFORMED;
	packet->tuple.source_port = tcp->source;
	packet->tuple.destination_port = tcp->dest;
	packet->tcp_flags = ((__u8 *)tcp)[13];
	if (tcp_flags_are_bad(packet->tcp_flags))
		return REASON_DROP_TCP_FLAGS;
	packet->sequence = *(__u16 *)&tcp->seq;
	packet->acknowledges = *(__u16 *)&tcp->ack_seq;
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

#include "fragment_parse.h"
