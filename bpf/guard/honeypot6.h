/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The honeypot's end of a TCP handshake over IPv6, as honeypot.h has it over IPv4. Packets with extension headers are not
 * answered, nor believed.
 */
#pragma once

#include "honeypot.h"

struct honeypot6_headers {
	struct ipv6hdr ip;
	struct tcphdr tcp;
};

/* The headers of a packet, whose TCP header is left without options. False where it is no TCP. */
static __always_inline bool honeypot6_read(ctx_t *ctx, struct honeypot6_headers *headers)
{
	if (ctx_load(ctx, ETH_HLEN, headers, sizeof(*headers)) || headers->ip.nexthdr != IPPROTO_TCP)
		return false;
	headers->tcp.doff = sizeof(headers->tcp) / 4;
	return true;
}

/* The answer to a SYN whose headers are in *headers, with that number. partial: an interface fills in the checksum. */
static __always_inline void honeypot6_fill(struct honeypot6_headers *headers, __u32 cookie, bool partial)
{
	struct {
		struct in6_addr source, destination;
		__be32 length;
		__be32 protocol;
	} pseudo = {.length = bpf_htonl(sizeof(headers->tcp)),
		    .protocol = bpf_htonl(IPPROTO_TCP)}; /* RFC 8200 section 8.1 */
	struct honeypot6_headers out = {};
	__u32 sum;

	out.ip.version = 6;
	out.ip.payload_len = bpf_htons(sizeof(out.tcp));
	out.ip.nexthdr = IPPROTO_TCP;
	out.ip.hop_limit = SEGMENT_TTL;
	out.ip.saddr = headers->ip.daddr;
	out.ip.daddr = headers->ip.saddr;
	segment_fill_tcp(&out.tcp, &headers->tcp, cookie, bpf_ntohl(headers->tcp.seq) + 1, TCP_FLAG_SYN | TCP_FLAG_ACK);
	pseudo.source = out.ip.saddr;
	pseudo.destination = out.ip.daddr;
	sum = bpf_csum_diff(0, 0, (__be32 *)&pseudo, sizeof(pseudo), 0);
	out.tcp.check = partial ? checksum_fold(sum)
				: ~checksum_fold(bpf_csum_diff(0, 0, (__be32 *)&out.tcp, sizeof(out.tcp), sum));
	*headers = out;
}

/* Turns a SYN into the answer to it; false where none is due or possible. */
__noinline bool honeypot6_answer(ctx_t *ctx, struct reply_route *route)
{
	struct honeypot6_headers headers;
	__u32 start = sum_start(ctx);
	__s64 cookie;

	if (start && start != ETH_HLEN + sizeof(headers.ip))
		return false;
	if (!route || !honeypot6_read(ctx, &headers) || !tcp_is_pure_syn(((__u8 *)&headers.tcp)[13]) ||
	    !honeypot_route(ctx, route))
		return false;
	cookie = bpf_tcp_raw_gen_syncookie_ipv6(&headers.ip, &headers.tcp, sizeof(headers.tcp));
	if (cookie < 0 || !budget_spend(honeypot_budget(HONEYPOT_BUDGET_ANSWERS), HONEYPOT_ANSWERS_PER_TICK))
		return false;
	honeypot6_fill(&headers, cookie, start);
	return segment_write(ctx, route->destination, route->source, &headers, sizeof(headers));
}

/* Tells of the packet if it ends a handshake that honeypot6_answer began. */
__noinline bool honeypot6_is_completed(ctx_t *ctx)
{
	struct honeypot6_headers headers;
	struct in6 source;
	__u8 flags;

	if (!honeypot6_read(ctx, &headers))
		return false;
	flags = ((__u8 *)&headers.tcp)[13];
	if ((flags & (TCP_FLAG_SYN | TCP_FLAG_ACK | TCP_FLAG_RST)) != TCP_FLAG_ACK ||
	    !budget_spend(honeypot_budget(HONEYPOT_BUDGET_ACKS), HONEYPOT_ACKS_PER_TICK) ||
	    bpf_tcp_raw_check_syncookie_ipv6(&headers.ip, &headers.tcp))
		return false;
	__builtin_memcpy(&source, &headers.ip.saddr, sizeof(source));
	honeypot_report(&source, headers.tcp.dest);
	return true;
}
