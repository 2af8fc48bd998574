/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A packet of the tunnel before anything of it is believed: its header, from whom it is, and of which pact. What is cheap to
 * look at comes first; nothing is written until all of it is right.
 */
#pragma once

#include "header.h"
#include "link.h"
#include "pact.h"

#define EDGE_OPTION_WORDS \
	0x1f		   /* of the last octet before an option's value; the rest is reserved (RFC 8926 section 3.5) */
#define EDGE_CRITICAL 0x40 /* of GENEVE's second octet: there is a critical option */
#define EDGE_OPTIONS  3	   /* of its first: the words of all options, and version 0 */
#define EDGE_CLASS    0xff52

enum ecn {
	ECN_NOT_CAPABLE,
	ECN_ECT1,
	ECN_ECT0,
	ECN_CONGESTED,
};

/* What a packet that came by the tunnel is of. */
struct arrival {
	__u32 link;   /* number, 0: not known */
	__u32 tag;    /* of its pact, ours */
	__u16 length; /* of the inner packet */
	__u8 tos;     /* of the inner packet, as it goes on */
};

struct edge_frame {
	struct edge_header outer;
	struct iphdr inner;
};

#define EDGE_FRAME (sizeof(struct edge_header) + sizeof(struct iphdr)) /* octets; the struct has some more */

/* Whether the header is as an edge writes it (internal/edge/wire has the same in Go). */
static __always_inline bool edge_is_wellformed(const struct edge_frame *frame)
{
	const struct edge_header *outer = &frame->outer;
	const struct iphdr *inner = &frame->inner;
	__u16 length = bpf_ntohs(outer->ip.tot_len), within = bpf_ntohs(inner->tot_len);

	return outer->version == EDGE_OPTIONS && (outer->flags & EDGE_CRITICAL) && !(outer->flags & GENEVE_OAM) &&
	       outer->protocol == bpf_htons(ETH_P_IP) && outer->class == bpf_htons(EDGE_CLASS) &&
	       (outer->type & EDGE_OPTION_CRITICAL) && (outer->words & EDGE_OPTION_WORDS) == 2 && !outer->udp.check &&
	       bpf_ntohs(outer->udp.len) == length - sizeof(outer->ip) && inner->version == 4 && inner->ihl >= 5 &&
	       within >= inner->ihl * 4 && within + sizeof(*outer) == length;
}

/* The inner packet's TOS behind the tunnel (RFC 6040 section 4.2); false where it may not come out. */
static __always_inline bool edge_ecn(__u8 outer, __u8 inner, __u8 *tos)
{
	__u8 mark = outer & EDGE_ECN, field = inner & EDGE_ECN;

	if (mark == ECN_CONGESTED && field == ECN_NOT_CAPABLE)
		return false;
	if (mark == ECN_CONGESTED || (mark == ECN_ECT1 && field == ECN_ECT0))
		field = mark;
	*tos = (inner & ~EDGE_ECN) | field;
	return true;
}

/* Whether the link's other edge has written it: REASON_NONE, or why not. */
static __always_inline enum reason edge_authenticate(ctx_t *ctx, const struct link *link,
						     const struct edge_frame *frame)
{
	__u8 epoch = frame->outer.type & ~EDGE_OPTION_CRITICAL;
	__u64 right;

	if (link->remote != frame->outer.ip.saddr)
		return REASON_DROP_EDGE_SOURCE;
	if (link->state == LINK_BANNED || is_banned(link->remote))
		return REASON_DROP_BANNED;
	if (*(volatile __u8 *)&link->receive_epoch[epoch & 1] != epoch)
		return REASON_DROP_EDGE_EPOCH;
	if (!authenticator(ctx, link->receive_key[epoch & 1], edge_vni(&frame->outer), &frame->inner,
			   ETH_HLEN + sizeof(frame->outer), &right))
		return REASON_DROP_EDGE_MALFORMED;
	return right == frame->outer.authenticator ? REASON_NONE : REASON_DROP_EDGE_FORGED;
}

/* REASON_NONE, and what it is of; else why it goes nowhere. */
__noinline enum reason edge_arrive(ctx_t *ctx, struct arrival *arrival)
{
	struct edge_frame frame;
	struct link *link;
	struct pact *pact;
	enum reason reason;
	__u32 vni, tick = clock_tick();

	if (!arrival || ctx_load(ctx, ETH_HLEN, &frame, EDGE_FRAME) || frame.outer.ip.ihl != 5)
		return REASON_DROP_EDGE_MALFORMED;
	if (frame.outer.ip.frag_off & bpf_htons(IP_MORE_FRAGMENTS | IP_OFFSET))
		return REASON_DROP_EDGE_FRAGMENT;
	if (!edge_is_wellformed(&frame))
		return REASON_DROP_EDGE_MALFORMED;
	vni = bpf_ntohl(frame.outer.vni) >> 8;
	link = link_of_vni(vni);
	if (!link)
		return REASON_DROP_EDGE_LINK;
	arrival->link = vni & (LINK_NUMBERS - 1);
	reason = edge_authenticate(ctx, link, &frame);
	if (reason != REASON_NONE)
		return reason;
	if (!edge_ecn(frame.outer.ip.tos, frame.inner.tos, &arrival->tos))
		return REASON_DROP_EDGE_MALFORMED;
	arrival->tag = bpf_ntohl(frame.inner.daddr);
	arrival->length = bpf_ntohs(frame.inner.tot_len);
	pact = pact_of_tag(arrival->tag, tick);
	if (!pact || bpf_htonl(pact->peer_tag) != frame.inner.saddr || pact->link != arrival->link)
		return REASON_DROP_EDGE_TAG;
	if (link->heard != tick)
		link->heard = tick;
	return REASON_NONE;
}

/* Takes the header off. */
static __always_inline bool edge_room_take(ctx_t *ctx)
{
#ifdef CTX_SKB
	return !bpf_skb_adjust_room(ctx, -(int)EDGE_HEADER, BPF_ADJ_ROOM_MAC, 0);
#else
	return !bpf_xdp_adjust_head(ctx, EDGE_HEADER);
#endif
}

/*
 * Leaves the inner packet alone in the frame, with the addresses that are known here: tags may look like any address. A
 * header's checksum that was wrong stays so.
 */
__noinline bool edge_unwrap(ctx_t *ctx, const struct pact *pact, const struct arrival *arrival)
{
	struct ethhdr eth;
	struct iphdr *ip;
	__u16 before, after;

	if (!pact || !arrival || ctx_load(ctx, 0, &eth, sizeof(eth)) || !edge_room_take(ctx) ||
	    ctx_store(ctx, 0, &eth, sizeof(eth)))
		return false;
	ctx_pull(ctx, ETH_HLEN + sizeof(*ip));
	ip = (void *)(long)ctx->data + ETH_HLEN;
	if ((void *)(ip + 1) > (void *)(long)ctx->data_end)
		return false;
	before = *(__u16 *)ip;
	ip->tos = arrival->tos;
	after = *(__u16 *)ip;
	ip->saddr = pact->proxy;
	ip->daddr = pact->host;
	ip->check =
		checksum_update(ip->check, checksum_add(~pact->delta, checksum_fold((__u64)(__u16)~before + after)));
	return true;
}
