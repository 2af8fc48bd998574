/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Segments of a handshake that the data plane itself sends: its SYN and ACK to a client, its SYN and its ACK to a host. One
 * layout of options: MSS, selective acknowledgement and timestamps, window scale, and NOPs where one is not offered.
 */
#pragma once

#include "../answer/segment.h"
#include "offer.h"

#define HANDSHAKE_WINDOW 16384 /* octets that a client may send before its host has answered: as many as are read */

struct handshake_options {
	__u8 mss[4];
	__u8 sack[2];
	__u8 timestamps[10];
	__u8 scale[4];
};

struct handshake_segment {
	struct iphdr ip;
	struct tcphdr tcp;
	struct handshake_options options;
};

/* What is to be said, the numbers in host byte order. */
struct handshake {
	__u32 sequence;
	__u32 acknowledges;
	__u16 window;
	__u8 flags;
	bool back;    /* to the sender of the frame that it replaces; else the same way */
	bool partial; /* an interface fills in the checksum */
};

static __always_inline void handshake_put_word(__u8 *at, __u32 value)
{
	value = bpf_htonl(value);
	__builtin_memcpy(at, &value, sizeof(value));
}

/* An ACK offers nothing, and says no more than timestamps. */
static __always_inline void handshake_put_options(struct handshake_options *out, const struct offer *offer, bool syn)
{
	__builtin_memset(out, TCP_OPTION_NOP, sizeof(*out));
	if (syn) {
		out->mss[0] = MSS_OPTION;
		out->mss[1] = MSS_OPTION_SIZE;
		out->mss[2] = offer->mss >> 8;
		out->mss[3] = offer->mss;
		if (offer->sack) {
			out->sack[0] = OPTION_SACK_PERMITTED;
			out->sack[1] = 2;
		}
		if (offer->scale != HANDSHAKE_NONE) {
			out->scale[1] = OPTION_SCALE;
			out->scale[2] = 3;
			out->scale[3] = offer->scale;
		}
	}
	if (offer->timestamps) {
		out->timestamps[0] = OPTION_TIMESTAMPS;
		out->timestamps[1] = 10;
		handshake_put_word(&out->timestamps[2], offer->value);
		handshake_put_word(&out->timestamps[6], offer->echo);
	}
}

/* Addresses and ports: those of the frame, or the other way round. */
static __always_inline void handshake_put_tuple(struct handshake_segment *out, const struct packet *packet, bool back)
{
	const struct tuple *t = &packet->tuple;

	out->ip.saddr = back ? t->destination : t->source;
	out->ip.daddr = back ? t->source : t->destination;
	out->tcp.source = back ? t->destination_port : t->source_port;
	out->tcp.dest = back ? t->source_port : t->destination_port;
}

static __always_inline void handshake_put_sums(struct handshake_segment *out, bool partial)
{
	struct {
		__be32 source, destination;
		__u8 zero, protocol;
		__be16 length;
	} pseudo = {out->ip.saddr, out->ip.daddr, 0, IPPROTO_TCP, bpf_htons(sizeof(out->tcp) + sizeof(out->options))};
	__u32 sum = bpf_csum_diff(0, 0, (__be32 *)&pseudo, sizeof(pseudo), 0);

	out->ip.check = ~checksum_fold(bpf_csum_diff(0, 0, (__be32 *)&out->ip, sizeof(out->ip), 0));
	out->tcp.check = partial ? checksum_fold(sum)
				 : ~checksum_fold(bpf_csum_diff(0, 0, (__be32 *)&out->tcp,
								sizeof(out->tcp) + sizeof(out->options), sum));
}

/* The link header of an answer. */
static __always_inline bool handshake_turn(ctx_t *ctx, struct ethhdr *link)
{
	__u32 ifindex = ctx_ifindex(ctx);
	struct interface *interface = bpf_map_lookup_elem(&interface_table, &ifindex);

	if (!interface)
		return false;
	__builtin_memcpy(link->h_dest, link->h_source, 6);
	__builtin_memcpy(link->h_source, interface->mac, 6);
	return true;
}

/* Makes the frame, of which packet was read, one segment. False where it cannot. */
__noinline bool handshake_write(ctx_t *ctx, const struct packet *packet, const struct handshake *what,
				const struct offer *offer)
{
	struct handshake_segment out = {};
	struct ethhdr link;

	if (!packet || !what || !offer || !segment_fits(packet) || ctx_load(ctx, 0, &link, sizeof(link)))
		return false;
	out.ip.version = 4;
	out.ip.ihl = sizeof(out.ip) / 4;
	out.ip.tot_len = bpf_htons(sizeof(out));
	out.ip.frag_off = bpf_htons(IP_DONT_FRAGMENT);
	out.ip.ttl = SEGMENT_TTL;
	out.ip.protocol = IPPROTO_TCP;
	handshake_put_tuple(&out, packet, what->back);
	out.tcp.seq = bpf_htonl(what->sequence);
	out.tcp.ack_seq = bpf_htonl(what->acknowledges);
	out.tcp.doff = (sizeof(out.tcp) + sizeof(out.options)) / 4;
	((__u8 *)&out.tcp)[13] = what->flags;
	out.tcp.window = bpf_htons(what->window);
	handshake_put_options(&out.options, offer, what->flags & TCP_FLAG_SYN);
	handshake_put_sums(&out, what->partial);
	if (what->back && !handshake_turn(ctx, &link))
		return false;
	return ctx_remake(ctx, ETH_HLEN + sizeof(out)) && !ctx_store(ctx, 0, &link, sizeof(link)) &&
	       !ctx_store(ctx, ETH_HLEN, &out, sizeof(out));
}
