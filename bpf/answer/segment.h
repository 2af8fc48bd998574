/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bare TCP segments with which the data plane itself answers one: headers alone, no options, no data.
 */
#pragma once

#include "../packet/packet.h"

#define SEGMENT_TTL 64

struct segment {
	struct iphdr ip;
	struct tcphdr tcp;
};

/* The headers of the packet without options. */
static __always_inline bool segment_read(ctx_t *ctx, const struct packet *packet, struct segment *segment)
{
	if (ctx_load(ctx, ETH_HLEN, &segment->ip, sizeof(segment->ip)) ||
	    ctx_load(ctx, packet->l4, &segment->tcp, sizeof(segment->tcp)))
		return false;
	segment->ip.ihl = sizeof(segment->ip) / 4;
	segment->tcp.doff = sizeof(segment->tcp) / 4;
	return true;
}

/* What answers a segment, but for its checksum. The numbers are in host byte order. */
static __always_inline void segment_fill_tcp(struct tcphdr *out, const struct tcphdr *in, __u32 sequence,
					     __u32 acknowledges, __u8 flags)
{
	out->source = in->dest;
	out->dest = in->source;
	out->seq = bpf_htonl(sequence);
	out->ack_seq = bpf_htonl(acknowledges);
	out->doff = sizeof(*out) / 4;
	((__u8 *)out)[13] = flags;
}

/* Makes of a segment's headers those of the answer to it. partial: an interface fills in the checksum. */
static __always_inline void segment_answer(struct segment *segment, __u32 sequence, __u32 acknowledges, __u8 flags,
					   bool partial)
{
	struct {
		__be32 source, destination;
		__u8 zero, protocol;
		__be16 length;
	} pseudo = {.protocol = IPPROTO_TCP, .length = bpf_htons(sizeof(segment->tcp))};
	struct segment out = {};
	__u32 sum;

	out.ip.version = 4;
	out.ip.ihl = sizeof(out.ip) / 4;
	out.ip.tot_len = bpf_htons(sizeof(out));
	out.ip.frag_off = bpf_htons(IP_DONT_FRAGMENT);
	out.ip.ttl = SEGMENT_TTL;
	out.ip.protocol = IPPROTO_TCP;
	out.ip.saddr = segment->ip.daddr;
	out.ip.daddr = segment->ip.saddr;
	out.ip.check = ~checksum_fold(bpf_csum_diff(0, 0, (__be32 *)&out.ip, sizeof(out.ip), 0));
	segment_fill_tcp(&out.tcp, &segment->tcp, sequence, acknowledges, flags);
	pseudo.source = out.ip.saddr;
	pseudo.destination = out.ip.daddr;
	sum = bpf_csum_diff(0, 0, (__be32 *)&pseudo, sizeof(pseudo), 0);
	out.tcp.check = partial ? checksum_fold(sum)
				: ~checksum_fold(bpf_csum_diff(0, 0, (__be32 *)&out.tcp, sizeof(out.tcp), sum));
	*segment = out;
}

/* Whether an answer to the packet may be left to an interface that fills in checksums where the packet's is. */
static __always_inline bool segment_fits(const struct packet *packet)
{
	return packet->sum != SUM_PARTIAL || packet->l4 == ETH_HLEN + sizeof(struct iphdr);
}

/* Makes the frame one of just these headers, IPv4's or IPv6's. */
static __always_inline bool segment_write(ctx_t *ctx, const __u8 *destination, const __u8 *source, const void *headers,
					  const __u32 length)
{
	struct ethhdr *eth;

	if (!ctx_resize(ctx, 0, ETH_HLEN + length))
		return false;
	eth = (void *)(long)ctx->data;
	if ((void *)(eth + 1) + length > (void *)(long)ctx->data_end)
		return false;
	__builtin_memcpy(eth->h_dest, destination, 6);
	__builtin_memcpy(eth->h_source, source, 6);
	__builtin_memcpy(eth + 1, headers, length);
	return true;
}
