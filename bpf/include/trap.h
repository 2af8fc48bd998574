/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The honeypot's end of a TCP handshake. A SYN is answered by a SYN and ACK whose sequence number is the kernel's SYN
 * cookie (RFC 4987 section 3.6), so that nothing is remembered of who only knocks: the ACK that brings it back proves
 * that its sender has the address. It says nothing else, takes no data and offers no options.
 */
#pragma once

#include "packet.h"
#include "tcp.h"
#include "trap_way.h"
#include "verdict.h"

#define LIES_PER_TICK 4096 /* wrong ACKs, beyond which none is believed: about 15,000 a second, of 2^29 to guess one */
#define TRAP_TTL      64

struct trap_headers {
	struct iphdr ip;
	struct tcphdr tcp;
};

/* The headers of the packet without options. */
static __always_inline bool trap_read(struct xdp_md *ctx, const struct packet *packet, struct trap_headers *headers)
{
	if (bpf_xdp_load_bytes(ctx, ETH_HLEN, &headers->ip, sizeof(headers->ip)) ||
	    bpf_xdp_load_bytes(ctx, packet->l4, &headers->tcp, sizeof(headers->tcp)))
		return false;
	headers->ip.ihl = sizeof(headers->ip) / 4;
	headers->tcp.doff = sizeof(headers->tcp) / 4;
	return true;
}

/* What answers a SYN, but for its checksum. */
static __always_inline void trap_fill_tcp(struct tcphdr *out, const struct tcphdr *syn, __u32 cookie)
{
	out->source = syn->dest;
	out->dest = syn->source;
	out->seq = bpf_htonl(cookie);
	out->ack_seq = bpf_htonl(bpf_ntohl(syn->seq) + 1);
	out->doff = sizeof(*out) / 4;
	out->syn = 1;
	out->ack = 1;
}

/* The answer to a SYN whose headers are in *headers, with that number. */
static __always_inline void trap_fill(struct trap_headers *headers, __u32 cookie)
{
	struct {
		__be32 source, destination;
		__u8 zero, protocol;
		__be16 length;
	} pseudo = {.protocol = IPPROTO_TCP, .length = bpf_htons(sizeof(headers->tcp))};
	struct trap_headers out = {};

	out.ip.version = 4;
	out.ip.ihl = sizeof(out.ip) / 4;
	out.ip.tot_len = bpf_htons(sizeof(out));
	out.ip.frag_off = bpf_htons(IP_DONT_FRAGMENT);
	out.ip.ttl = TRAP_TTL;
	out.ip.protocol = IPPROTO_TCP;
	out.ip.saddr = headers->ip.daddr;
	out.ip.daddr = headers->ip.saddr;
	out.ip.check = ~checksum_fold(bpf_csum_diff(0, 0, (__be32 *)&out.ip, sizeof(out.ip), 0));
	trap_fill_tcp(&out.tcp, &headers->tcp, cookie);
	pseudo.source = out.ip.saddr;
	pseudo.destination = out.ip.daddr;
	out.tcp.check = ~checksum_fold(bpf_csum_diff(0, 0, (__be32 *)&out.tcp, sizeof(out.tcp),
						     bpf_csum_diff(0, 0, (__be32 *)&pseudo, sizeof(pseudo), 0)));
	*headers = out;
}

/* Makes the frame one of just these headers. */
static __always_inline bool trap_write(struct xdp_md *ctx, const struct trap_way *way, const void *headers,
				       const __u32 length)
{
	struct ethhdr *eth;

	if (bpf_xdp_adjust_tail(ctx, (int)(ETH_HLEN + length) - (int)bpf_xdp_get_buff_len(ctx)))
		return false;
	eth = (void *)(long)ctx->data;
	if ((void *)(eth + 1) + length > (void *)(long)ctx->data_end)
		return false;
	__builtin_memcpy(eth->h_dest, way->destination, 6);
	__builtin_memcpy(eth->h_source, way->source, 6);
	__builtin_memcpy(eth + 1, headers, length);
	return true;
}

static __always_inline bool trap_is_knock(const struct packet *packet)
{
	return !packet->hairpin && !packet->link_broadcast && packet->tuple.protocol == IPPROTO_TCP &&
	       tcp_is_pure_syn(packet->tcp_flags);
}

/* Turns a SYN into the answer to it; false where it cannot. */
__noinline bool trap_answer(struct xdp_md *ctx, const struct packet *packet, const struct trap_way *way)
{
	struct budget *budget = budget_get();
	struct trap_headers headers;
	__s64 cookie;

	if (!packet || !way || !budget || !trap_read(ctx, packet, &headers))
		return false;
	cookie = bpf_tcp_raw_gen_syncookie_ipv4(&headers.ip, &headers.tcp, sizeof(headers.tcp));
	if (cookie < 0)
		return false;
	trap_fill(&headers, cookie);
	if (!trap_write(ctx, way, &headers, sizeof(headers)))
		return false;
	budget->traps++;
	return true;
}

/* Whether the packet ends a handshake that trap_answer began. */
__noinline bool trap_is_proven(struct xdp_md *ctx, const struct packet *packet)
{
	struct budget *budget = budget_get();
	struct trap_headers headers;

	if (!packet || !budget || budget->lies >= LIES_PER_TICK || packet->tuple.protocol != IPPROTO_TCP ||
	    (packet->tcp_flags & (TCP_FLAG_SYN | TCP_FLAG_ACK | TCP_FLAG_RST)) != TCP_FLAG_ACK ||
	    !trap_read(ctx, packet, &headers))
		return false;
	if (bpf_tcp_raw_check_syncookie_ipv4(&headers.ip, &headers.tcp) == 0)
		return true;
	budget->lies++;
	return false;
}

/* The daemon bans who proved that he was here. */
static __always_inline void trap_tell(const struct in6 *source, __u16 port)
{
	struct trap_event *event = bpf_ringbuf_reserve(&trap_events, sizeof(*event), 0);

	if (!event) {
		count_statistic(STATISTIC_EVENTS_LOST);
		return;
	}
	event->at = bpf_ktime_get_ns();
	event->source = *source;
	event->port = port;
	__builtin_memset(event->pad, 0, sizeof(event->pad));
	bpf_ringbuf_submit(event, 0);
}

/* Sends an answer. */
static __always_inline int trap_send(const struct trap_way *way)
{
	reason_count(REASON_ANSWERED_TRAP);
	return way->ifindex ? bpf_redirect(way->ifindex, 0) : XDP_PASS;
}

/* What becomes of a packet that the honeypot dropped. */
__noinline int trap_spring(struct xdp_md *ctx, const struct packet *packet)
{
	struct trap_way way = {};

	if (!packet)
		return XDP_DROP;
	if (!trap_is_knock(packet) || !trap_route(ctx, &way) || !trap_answer(ctx, packet, &way))
		return verdict(ctx, packet, REASON_DROP_TRAPPED, SIDE_PUBLIC);
	return trap_send(&way);
}
