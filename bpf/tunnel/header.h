/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The header before a packet to another edge: IPv4, UDP and GENEVE (RFC 8926) with one critical option, which says the epoch
 * of the key and has the authenticator. The link's template has what is the same of all its packets.
 */
#pragma once

#include <linux/if_ether.h>

#include "../include/types.h"
#include "authenticator.h"

#define EDGE_OVERHEAD	     ((__u32)sizeof(struct edge_header))
#define EDGE_OPTION_CRITICAL 0x80   /* in the type of the option; the rest of it is the epoch */
#define EDGE_PORTS	     0xc000 /* 49152 and more: source ports by hash, where the template has none */
#define EDGE_PORTS_MASK	     0x3fff
#define EDGE_ECN	     0x03

struct edge_header {
	struct iphdr ip;
	struct udphdr udp;
	__u8 version; /* and the length of options, in words */
	__u8 flags;
	__be16 protocol;
	__be32 vni; /* 24 bits */
	__be16 class;
	__u8 type;
	__u8 words; /* of the option, behind its first */
	__u64 authenticator;
};

/* VNI of a header, as authenticator takes it. */
static __always_inline __u32 edge_vni(const struct edge_header *header)
{
	return header->vni & bpf_htonl(0xffffff00);
}

static __always_inline __u16 edge_header_sum(const struct iphdr *ip)
{
	const __u32 *word = (const __u32 *)ip;

	return ~checksum_fold((__u64)word[0] + word[1] + word[2] + word[3] + word[4]);
}

/* The header of the IP packet that the frame has; hash: of its flow. False where the packet is not what it says. */
static __always_inline bool edge_header_fill(ctx_t *ctx, const struct link *link, __u16 hash,
					     struct edge_header *header)
{
	__u8 epoch = *(volatile __u8 *)&link->send_epoch;
	struct iphdr inner;
	__u16 length;

	if (ctx_load(ctx, ETH_HLEN, &inner, sizeof(inner)))
		return false;
	__builtin_memcpy(header, link->header, sizeof(*header));
	if (!authenticator(ctx, link->send_key[epoch & 1], edge_vni(header), &inner, ETH_HLEN, &header->authenticator))
		return false;
	length = bpf_ntohs(inner.tot_len) + sizeof(*header);
	header->ip.tos = inner.tos & EDGE_ECN; /* RFC 6040 */
	header->ip.tot_len = bpf_htons(length);
	header->ip.check = 0;
	header->ip.check = edge_header_sum(&header->ip);
	if (!header->udp.source)
		header->udp.source = bpf_htons(EDGE_PORTS | (hash & EDGE_PORTS_MASK));
	header->udp.len = bpf_htons(length - sizeof(header->ip));
	header->type = EDGE_OPTION_CRITICAL | epoch;
	return true;
}

#ifdef CTX_SKB

static __always_inline bool edge_room(ctx_t *ctx)
{
	return !bpf_skb_adjust_room(ctx, sizeof(struct edge_header), BPF_ADJ_ROOM_MAC, 0);
}

/* The sum of all octets, where the socket buffer has it, is of these, too. */
static __always_inline bool edge_room_fill(ctx_t *ctx, struct ethhdr *link, struct edge_header *header)
{
	return !ctx_store(ctx, 0, link, sizeof(*link)) &&
	       !bpf_skb_store_bytes(ctx, ETH_HLEN, header, sizeof(*header), BPF_F_RECOMPUTE_CSUM);
}

#else

static __always_inline bool edge_room(ctx_t *ctx)
{
	return !bpf_xdp_adjust_head(ctx, -(int)sizeof(struct edge_header));
}

static __always_inline bool edge_room_fill(ctx_t *ctx, struct ethhdr *link, struct edge_header *header)
{
	return !ctx_store(ctx, 0, link, sizeof(*link)) && !ctx_store(ctx, ETH_HLEN, header, sizeof(*header));
}

#endif

/* Puts the header before the IP packet of the frame, whose addresses are tags, and the link addresses of hop, if any. */
__noinline bool edge_prepend(ctx_t *ctx, const struct link *link, const struct next_hop *hop, __u16 hash)
{
	struct edge_header header;
	struct ethhdr eth;

	if (!link || ctx_load(ctx, 0, &eth, sizeof(eth)) || !edge_header_fill(ctx, link, hash, &header))
		return false;
	if (hop) {
		__builtin_memcpy(eth.h_dest, hop->destination, sizeof(eth.h_dest));
		__builtin_memcpy(eth.h_source, hop->source, sizeof(eth.h_source));
	}
	return edge_room(ctx) && edge_room_fill(ctx, &eth, &header);
}
