/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The honeypot's end of a TCP handshake. A SYN is answered by a SYN and ACK whose sequence number is the kernel's SYN
 * cookie (RFC 4987 section 3.6), so that nothing is remembered of who only knocks: the ACK that brings it back proves
 * that its sender has the address. It says nothing else, takes no data and offers no options.
 */
#pragma once

#include "../answer/segment.h"
#include "../conntrack/tcp.h"
#include "honeypot_route.h"
#include "../include/verdict.h"

static __always_inline bool honeypot_is_syn(const struct packet *packet)
{
	return !packet->hairpin && !packet->link_broadcast && packet->tuple.protocol == IPPROTO_TCP &&
	       tcp_is_pure_syn(packet->tcp_flags);
}

/* Turns a SYN into the answer to it; false where it cannot. */
__noinline bool honeypot_answer(ctx_t *ctx, const struct packet *packet, const struct reply_route *route)
{
	struct segment headers;
	__s64 cookie;

	if (!packet || !route || !segment_fits(packet) || !segment_read(ctx, packet, &headers))
		return false;
	cookie = bpf_tcp_raw_gen_syncookie_ipv4(&headers.ip, &headers.tcp, sizeof(headers.tcp));
	if (cookie < 0 || !budget_spend(honeypot_budget(HONEYPOT_BUDGET_ANSWERS), HONEYPOT_ANSWERS_PER_TICK))
		return false;
	segment_answer(&headers, cookie, bpf_ntohl(headers.tcp.seq) + 1, TCP_FLAG_SYN | TCP_FLAG_ACK,
		       sum_stays(packet->sum, route->ifindex));
	return segment_write(ctx, route->destination, route->source, &headers, sizeof(headers));
}

/* Whether the packet ends a handshake that honeypot_answer began. */
__noinline bool honeypot_is_completed(ctx_t *ctx, const struct packet *packet)
{
	struct segment headers;

	if (!packet || packet->tuple.protocol != IPPROTO_TCP ||
	    (packet->tcp_flags & (TCP_FLAG_SYN | TCP_FLAG_ACK | TCP_FLAG_RST)) != TCP_FLAG_ACK ||
	    !segment_read(ctx, packet, &headers) ||
	    !budget_spend(honeypot_budget(HONEYPOT_BUDGET_ACKS), HONEYPOT_ACKS_PER_TICK))
		return false;
	return bpf_tcp_raw_check_syncookie_ipv4(&headers.ip, &headers.tcp) == 0;
}

/* The daemon bans who proved that it was here. */
static __always_inline void honeypot_report(const struct in6 *source, __u16 port)
{
	struct honeypot_event *event = bpf_ringbuf_reserve(&honeypot_events, sizeof(*event), 0);

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
static __always_inline int honeypot_send(ctx_t *ctx, const struct reply_route *route)
{
	reason_count(REASON_ANSWERED_HONEYPOT);
	return route->ifindex ? ctx_redirect(ctx, route->ifindex) : CTX_PASS;
}

/* What becomes of a packet that the honeypot dropped. */
__noinline int honeypot_respond(ctx_t *ctx, const struct packet *packet)
{
	struct reply_route route = {};

	if (!packet)
		return CTX_DROP;
	if (packet->fragment || !honeypot_is_syn(packet) || !honeypot_route(ctx, &route) ||
	    !honeypot_answer(ctx, packet, &route))
		return verdict(ctx, packet, REASON_DROP_HONEYPOT, SIDE_PUBLIC);
	return honeypot_send(ctx, &route);
}
