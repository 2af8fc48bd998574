/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a frame holds. An ICMP query's identifier stands as the port of the side that asks, the answering side's port is 0,
 * so that queries look like any other client's flow (RFC 5508 REQ-1).
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

enum fragment {
	FRAGMENT_NONE,
	FRAGMENT_FIRST,
	FRAGMENT_LATER,
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

/* No sender sets these: FIN or RST with SYN, or none of SYN, RST and ACK (RFC 9293 §3.10.7). FIN with RST resets. */
static __always_inline bool tcp_flags_are_bad(__u8 flags)
{
	if (flags & TCP_FLAG_SYN)
		return flags & (TCP_FLAG_FIN | TCP_FLAG_RST);
	return !(flags & (TCP_FLAG_RST | TCP_FLAG_ACK));
}

/* What TCP's header says of a segment; its length is judged before. */
static __always_inline enum reason packet_read_tcp(struct packet *packet, const struct tcphdr *tcp)
{
	if (!tcp->source || !tcp->dest)
		return REASON_DROP_MALFORMED;
	packet->tuple.source_port = tcp->source;
	packet->tuple.destination_port = tcp->dest;
	packet->tcp_flags = ((__u8 *)tcp)[13];
	if (tcp_flags_are_bad(packet->tcp_flags))
		return REASON_DROP_TCP_FLAGS;
	packet->sequence = *(__u16 *)&tcp->seq;
	packet->acknowledges = *(__u16 *)&tcp->ack_seq;
	return REASON_NONE;
}
