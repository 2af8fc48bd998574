/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Telling a sender that there is nothing for it, so that its program goes on at once instead of waiting: by RST
 * (RFC 9293 §3.10.7.1) or ICMP port unreachable (RFC 1122 §3.2.2.1), from the address that it came to. One budget is the
 * gateway's, and one each source's, all CPUs together: what is beyond it ends in silence.
 */
#pragma once

#include "answer.h"
#include "../include/budget.h"
#include "../conntrack/index.h"
#include "segment.h"

#define REFUSALS_PER_TICK    2048 /* about 7,600 a second */
#define REFUSALS_OF_A_SOURCE 64	  /* in a tick: about 240 a second; sources of one hash share it */
#define REFUSALS_ALL	     0	  /* the gateway's place in answer_budgets */
#define ICMP_PROT_UNREACH    2
#define ICMP_PORT_UNREACH    3

static __always_inline bool refusals_allow(__u32 place, __u32 most)
{
	return budget_spend(bpf_map_lookup_elem(&answer_budgets, &place), most);
}

/* The source first, so that one that has used up its own takes nothing from the others. */
static __always_inline bool refusal_is_paid(__u32 source)
{
	__u32 place = 1 + (hash_words(source, 0) & (REFUSAL_SOURCES - 1));

	return refusals_allow(place, REFUSALS_OF_A_SOURCE) && refusals_allow(REFUSALS_ALL, REFUSALS_PER_TICK);
}

/* Makes of a segment the RST that answers it; false for one that is an RST. */
__noinline bool refusal_reset(ctx_t *ctx, const struct packet *packet)
{
	__u32 ifindex = ctx_ifindex(ctx), length, sequence;
	struct interface *interface = bpf_map_lookup_elem(&interface_table, &ifindex);
	struct segment segment;
	struct ethhdr link;
	bool partial;

	if (!packet || !interface || (packet->tcp_flags & TCP_FLAG_RST) || !segment_fits(packet) ||
	    ctx_load(ctx, 0, &link, sizeof(link)) || ctx_load(ctx, packet->l4, &segment.tcp, sizeof(segment.tcp)))
		return false;
	length = packet->ip_length - (packet->l4 - ETH_HLEN) - segment.tcp.doff * 4;
	if (!segment_read(ctx, packet, &segment))
		return false;
	partial = sum_stays(packet->sum, true);
	sequence = bpf_ntohl(segment.tcp.seq) + length + !!(packet->tcp_flags & TCP_FLAG_SYN) +
		   !!(packet->tcp_flags & TCP_FLAG_FIN);
	if (packet->tcp_flags & TCP_FLAG_ACK)
		segment_answer(&segment, bpf_ntohl(segment.tcp.ack_seq), 0, TCP_FLAG_RST, partial);
	else
		segment_answer(&segment, 0, sequence, TCP_FLAG_RST | TCP_FLAG_ACK, partial);
	return segment_write(ctx, link.h_source, interface->mac, &segment, sizeof(segment));
}

/* Counts the drop, and makes of the packet its refusal; false where none is due or possible. */
__noinline bool refusal_write(ctx_t *ctx, const struct packet *packet, enum reason reason, enum side side)
{
	struct icmp_error error = {.type = ICMP_DEST_UNREACH, .code = ICMP_PORT_UNREACH};
	bool written;

	if (!packet)
		return false;
	reason_count(reason);
	drop_sample(ctx, packet, reason, side);
	if (packet->link_broadcast || packet->kind != PACKET_FLOW ||
	    (packet->tuple.protocol == IPPROTO_TCP && packet->tcp_flags & TCP_FLAG_RST) ||
	    packet->tuple.protocol == IPPROTO_ICMP || !refusal_is_paid(packet->tuple.source))
		return false;
	if (packet->tuple.protocol == IPPROTO_TCP) {
		written = refusal_reset(ctx, packet);
	} else {
		error.from = packet->tuple.destination;
		if (is_basic(packet->tuple.protocol))
			error.code = ICMP_PROT_UNREACH;
		written = icmp_error_write(ctx, packet, &error);
	}
	if (written)
		count_statistic(STATISTIC_REFUSALS_SENT);
	return written;
}

/* Drops the packet for the reason, and refuses it. What is sent of a hairpin goes the way of its answers. */
static __always_inline int refuse_stranger(ctx_t *ctx, const struct packet *packet, enum reason reason, enum side side)
{
	if (!refusal_write(ctx, packet, reason, side))
		return CTX_DROP;
	if (packet->hairpin) {
		hairpin_enter(ctx, packet);
		return CTX_DROP;
	}
	return ctx_redirect(ctx, ctx_ifindex(ctx));
}

/* Whether strangers are told. */
static __always_inline bool refusals_are_on(const struct packet *packet)
{
	struct settings *settings = settings_get(packet->generation);

	return settings && settings->refuse;
}
