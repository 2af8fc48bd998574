/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packets between edges have tags for both addresses, and the ports that the other edge knows. On the way in addresses are
 * put back before anything else looks at the packet (in_side.h), on the way out here.
 */
#pragma once

#include "../conntrack/standing.h"
#include "../nat/rewrite.h"
#include "../packet/mss.h"
#include "../path/forward.h"
#include "types.h"

/* Notes a packet in its session; of one from outside, whether it stands, and that its host has answered. */
static __always_inline void edge_touch(struct session *session, const struct packet *packet, enum direction direction,
				       __u32 tick)
{
	bool outbound = session_is_outbound(session->origin);
	enum turn turn;

	if (DRY)
		return;
	turn = session_touch(session, packet, direction, tick);
	if (session->protocol != IPPROTO_TCP) {
		if ((direction == DIRECTION_IN) == outbound && !(session->marks.as.flags & SESSION_ANSWERED))
			session_mark(session, SESSION_ANSWERED);
	} else if (!outbound && turn == TURN_CLOSES) {
		standing_close(session);
	} else if (!outbound && turn == TURN_OPENS) {
		standing_return(session);
	}
}

/* Lowers what a SYN says to what goes through the link, and by the interface that it came by. */
static __always_inline void edge_clamp(ctx_t *ctx, const struct packet *packet, __u32 most)
{
	struct settings *settings = settings_get(packet->generation);
	__u32 came = interface_mtu(ctx, 0);

	if (!settings || settings->mss == MSS_OFF)
		return;
	if (came < most)
		most = came;
	most = most > MSS_HEADERS ? most - MSS_HEADERS : 1;
	if (settings->mss != MSS_AUTO && settings->mss < most)
		most = settings->mss;
	trace_step(TRACE_MSS, 0, 0, 0, most);
	mss_clamp(ctx, packet, most);
}

/* Both addresses of what leaves, and one hop less. */
static __always_inline bool edge_address(ctx_t *ctx, __u32 own_tag, __u32 peer_tag, __u16 delta)
{
	struct iphdr *ip = (void *)(long)ctx->data + ETH_HLEN;

	if ((void *)(ip + 1) > (void *)(long)ctx->data_end)
		return false;
	ip->saddr = bpf_htonl(own_tag);
	ip->daddr = bpf_htonl(peer_tag);
	ip->check = checksum_update(ip->check, delta);
	ttl_write(ip, ip->ttl - 1);
	return true;
}

/* Whether a checksum behind the IP header makes up for the addresses in it. */
static __always_inline bool sum_covers_addresses(__u8 protocol)
{
	return is_basic(protocol) ? basic_has_sum(protocol) : protocol != IPPROTO_ICMP;
}

/* The port and checksum of a packet of a session; addresses stay. */
static __always_inline bool edge_port(ctx_t *ctx, const struct packet *packet, const struct session *session,
				      enum direction direction)
{
	bool out = direction == DIRECTION_OUT;
	__u64 offset = packet->l4;
	void *l4;

	barrier_var(offset); /* or the compiler loses the bound that the verifier wants to see */
	if (offset > ETH_HLEN + 60)
		return false;
	l4 = (void *)(long)ctx->data + offset;
	barrier_var(l4);
	if (!rewrite_l4(ctx, l4, (void *)(long)ctx->data_end, packet, out,
			out ? session->external_port : session->private_port,
			out ? session->l4_delta : ~session->l4_delta,
			out ? session->address_delta : ~session->address_delta))
		return false;
	if (sum_covers_addresses(packet->tuple.protocol))
		sum_note(ctx, packet->sum, out ? ~session->address_delta : session->address_delta);
	return true;
}

/* A packet of a session on its way out, whole. */
static __always_inline bool edge_rewrite(ctx_t *ctx, const struct packet *packet, const struct session *session)
{
	return edge_port(ctx, packet, session, DIRECTION_OUT) &&
	       edge_address(ctx, session->holds.edge.tag, session->holds.edge.peer_tag, session->address_delta);
}
