/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Questions to the name server from outside, over UDP. Anybody can forge whose they are: for a lent name who has not
 * proved its address is told here to come by TCP, and costs the daemon nothing. What it has to see for itself - good
 * cookies, other names and types, what cannot be read - reaches it within limits, and beyond them is told the same.
 * While no daemon lives all is left to the kernel: nobody would serve TCP.
 */
#pragma once

#include "answer.h"
#include "limit.h"
#include "../include/verdict.h"

/* What is to become of a question. */
enum question_fate {
	QUESTION_DAEMON,
	QUESTION_TOLD,	 /* to come by TCP, as its name is lent */
	QUESTION_SLOWED, /* the same, as it is over a limit */
	QUESTION_DROPPED,
};

/* Whether the packet is a question, and a daemon lives that waits for those that have proved their address. */
static __always_inline bool question_is_due(const struct packet *packet)
{
	const struct tuple *tuple = &packet->tuple;
	struct settings *settings = settings_get(packet->generation);
	struct question_state *state;
	__u32 zero = 0;

	if (!settings || tuple->protocol != IPPROTO_UDP || tuple->destination_port != settings->name_port ||
	    tuple->destination != settings->name_server || packet->hairpin || packet->link_broadcast)
		return false;
	state = bpf_map_lookup_elem(&question_states, &zero);
	return state && *(volatile __u64 *)&state->until > bpf_ktime_get_coarse_ns() && !source_is_banned(packet);
}

static __always_inline __u8 question_lent_type(__u16 type)
{
	switch (type) {
	case DNS_TYPE_A:
		return LENT_A;
	case DNS_TYPE_AAAA:
		return LENT_AAAA;
	case DNS_TYPE_HTTPS:
		return LENT_HTTPS;
	}
	return 0;
}

/* Whether the daemon waits for what the asker says next, until a tick (internal/nameserver/minimise.go). */
static __always_inline bool question_is_awaited(__u32 asker)
{
	__u32 place = bpf_ntohl(asker) * 0x9e3779b1U >> 20; /* of QUESTION_AWAITED; the daemon computes it, too */
	__u64 *awaited = bpf_map_lookup_elem(&awaited_askers, &place);
	__u64 word = awaited ? *(volatile __u64 *)awaited : 0;

	return word && (__u32)word == asker && (__s32)((__u32)(word >> 32) - clock_tick()) >= 0;
}

/*
 * Whether the daemon would say no more than TC=1, in the same octets. Of other types than A it has something to say,
 * at least 15 octets of an HTTPS record, which may fit where a question was padded.
 */
__noinline bool question_is_lent(struct question *q, __u32 asker)
{
	__u64 hash;
	__u8 type, *types;
	__u32 least;

	if (!q)
		return false;
	type = question_lent_type(q->type);
	if (!type || q->subnet)
		return false;
	least = q->end + (q->edns ? QUESTION_OPT : 0) + (q->cookie ? COOKIE_ROOM : 0) + 15;
	if (type != LENT_A && q->length >= least)
		return false;
	hash = question_name_hash(q);
	types = bpf_map_lookup_elem(&lent_names, &hash);
	return types && (*types & type) && !question_is_awaited(asker);
}

static __always_inline enum question_fate question_judge(struct question *q, __u32 asker, bool read)
{
	bool proved = read && cookie_is_good(q, asker);

	if (read && !proved && question_is_lent(q, asker))
		return QUESTION_TOLD;
	if (question_is_paid(asker, proved))
		return QUESTION_DAEMON;
	return read ? QUESTION_SLOWED : QUESTION_DROPPED;
}

/* Reads the message into q->octet; false for one that is too long, or cannot be answered. */
static __always_inline bool question_load(ctx_t *ctx, struct question *q, const struct datagram *datagram)
{
	__u32 length = bpf_ntohs(datagram->udp.len) - sizeof(struct udphdr);

	if (datagram->ip.ihl != sizeof(struct iphdr) / 4 || !datagram->udp.source || length < QUESTION_HEADER ||
	    length > QUESTION_MOST || ctx_load(ctx, QUESTION_HEADERS, q->octet, length))
		return false;
	q->length = length;
	return question_read(q);
}

/* Entered by tail call, with a packet that question_is_due has seen. */
static __always_inline int question_side(ctx_t *ctx)
{
	struct question *q = question_get();
	struct datagram datagram;
	struct packet packet = {};
	enum question_fate fate;

	if (!q || ctx_load(ctx, ETH_HLEN, &datagram, sizeof(datagram)))
		return verdict(ctx, &packet, REASON_DROP_INTERNAL, SIDE_PUBLIC);
	packet.tuple.source = datagram.ip.saddr;
	packet.tuple.destination = datagram.ip.daddr;
	packet.tuple.protocol = IPPROTO_UDP;
	packet.tuple.source_port = datagram.udp.source;
	packet.tuple.destination_port = datagram.udp.dest;
	fate = question_judge(q, datagram.ip.saddr, question_load(ctx, q, &datagram));
	if (fate == QUESTION_DAEMON)
		return verdict(ctx, &packet, REASON_TO_GATEWAY, SIDE_PUBLIC);
	if (fate == QUESTION_DROPPED || !question_write(ctx, q, &datagram, fate == QUESTION_TOLD))
		return verdict(ctx, &packet, REASON_DROP_QUESTION_LIMIT, SIDE_PUBLIC);
	reason_count(fate == QUESTION_TOLD ? REASON_ANSWERED_QUESTION : REASON_ANSWERED_SLOWED);
	return ctx_redirect(ctx, ctx_ifindex(ctx));
}
