/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ICMP errors (RFC 5508 §4): the packet quoted inside names the session, its addresses, port and checksums are
 * translated back to what the receiver sent. An error refreshes no session and ends none (REQ-6, RFC 4787
 * REQ-12, RFC 5382 REQ-10).
 */
#pragma once

#include "../answer/answer.h"
#include "../packet/basic.h"
#include "../packet/packet.h"
#include "../conntrack/session.h"
#include "difference.h"

/* The packet quoted in an ICMP error, seen as the packet its sender got. */
struct quoted {
	struct tuple tuple;
	__u16 ip; /* offsets in the frame */
	__u16 l4;
	__u8 reply; /* answers an ICMP query */
};

static __always_inline enum reason quoted_parse(ctx_t *ctx, const struct packet *packet, struct quoted *quoted)
{
	struct {
		__u16 source;
		__u16 destination;
		__u16 third;
		__u16 fourth;
	} l4;
	struct iphdr ip;

	if (packet->link_broadcast)
		return REASON_DROP_LINK_BROADCAST;
	quoted->ip = packet->l4 + sizeof(struct icmphdr);
	if (ctx_load(ctx, quoted->ip, &ip, sizeof(ip)) || ip.version != 4 || ip.ihl < 5)
		return REASON_DROP_MALFORMED;
	if (ip.frag_off & bpf_htons(IP_OFFSET))
		return REASON_DROP_QUOTED_FRAGMENT;
	quoted->l4 = quoted->ip + ip.ihl * 4;
	if (ctx_load(ctx, quoted->l4, &l4, sizeof(l4)))
		return REASON_DROP_MALFORMED;
	if (quoted->l4 + sizeof(l4) > ETH_HLEN + packet->ip_length)
		return REASON_DROP_MALFORMED;
	quoted->tuple.source = ip.saddr;
	quoted->tuple.destination = ip.daddr;
	quoted->tuple.protocol = ip.protocol;
	switch (ip.protocol) {
	case IPPROTO_UDP:
	case IPPROTO_TCP:
		quoted->tuple.source_port = l4.source;
		quoted->tuple.destination_port = l4.destination;
		return REASON_NONE;
	case IPPROTO_ICMP: /* type and code stand in the first word, the identifier in the third */
		if ((bpf_ntohs(l4.source) >> 8) == ICMP_ECHO)
			quoted->tuple.source_port = l4.third;
		else if ((bpf_ntohs(l4.source) >> 8) == ICMP_ECHOREPLY)
			quoted->tuple.destination_port = l4.third;
		else
			return REASON_DROP_ICMP_TYPE;
		quoted->reply = (bpf_ntohs(l4.source) >> 8) == ICMP_ECHOREPLY;
		return REASON_NONE;
	}
	return basic_least(ip.protocol) ? REASON_NONE : REASON_DROP_PROTOCOL;
}

/* RFC 5508 REQ-3: the ICMP checksum and that of the quoted IP header must be right, the quoted L4 one is not judged. */
static __always_inline bool icmp_checksum_is_wrong(ctx_t *ctx, const struct packet *packet, const struct quoted *quoted)
{
	return checksum_bytes(ctx, packet->l4, ETH_HLEN + packet->ip_length - packet->l4, 0) != 0xffff ||
	       checksum_bytes(ctx, quoted->ip, quoted->l4 - quoted->ip, 0) != 0xffff;
}

/* Replaces two bytes of the frame and adds the change to *delta. */
static __always_inline bool quoted_word(ctx_t *ctx, __u32 offset, __u16 value, __u16 *delta)
{
	__u16 before;

	if (ctx_load(ctx, offset, &before, sizeof(before)) || ctx_store(ctx, offset, &value, sizeof(value)))
		return false;
	*delta = checksum_add(*delta, checksum_fold((__u64)(__u16)~before + value));
	return true;
}

/*
 * The number of a segment that left us is the host's again, or it takes the error for one about nothing in flight. The quoted
 * checksum, of more than is quoted, is left as nobody checks it.
 */
static __always_inline bool quoted_sequence(ctx_t *ctx, const struct quoted *quoted, const struct session *session,
					    __u16 *delta)
{
	__be32 number;

	if (ctx_load(ctx, quoted->l4 + 4, &number, sizeof(number)))
		return false;
	difference_add(&number, -session->holds.web.difference, delta);
	return !ctx_store(ctx, quoted->l4 + 4, &number, sizeof(number));
}

/* Where the quoted L4 header keeps port (or identifier) and checksum, relative to its start. */
static __always_inline __u32 quoted_port_offset(__u8 protocol, bool source)
{
	return protocol == IPPROTO_ICMP ? 4 : source ? 0 : 2;
}

static __always_inline __u32 quoted_checksum_offset(__u8 protocol)
{
	return protocol == IPPROTO_TCP ? 16 : protocol == IPPROTO_ICMP ? 2 : 6;
}

/*
 * Translates the quoted packet: its source when the error comes from outside (it quotes what left us), its
 * destination when it comes from inside. delta collects the change for the outer ICMP checksum.
 */
static __always_inline bool quoted_rewrite(ctx_t *ctx, const struct packet *packet, const struct quoted *quoted,
					   const struct session *session, bool source, __u16 *delta)
{
	__u32 address = source ? session->private_address : session->external_address;
	__u16 port = source ? session->private_port : session->external_port;
	__u16 address_delta = source ? ~session->address_delta : session->address_delta;
	__u16 l4_delta = source ? ~session->l4_delta : session->l4_delta;
	__u32 checksum_at = quoted->l4 + quoted_checksum_offset(session->protocol);
	/* The answering side of a query has no port in the packet. */
	bool has_port = !is_basic(session->protocol) && (session->protocol != IPPROTO_ICMP || source != quoted->reply);
	__u16 field;

	/* A right IP header adds up to the same whatever its address, so the outer checksum sees no change. */
	if (ctx_store(ctx, quoted->ip + (source ? 12 : 16), &address, 4) || ctx_load(ctx, quoted->ip + 10, &field, 2))
		return false;
	*delta = checksum_add(*delta, address_delta);
	if (!quoted_word(ctx, quoted->ip + 10, checksum_update(field, address_delta), delta))
		return false;
	if (!has_port && !basic_has_sum(session->protocol))
		return true;
	if (has_port && !quoted_word(ctx, quoted->l4 + quoted_port_offset(session->protocol, source), port, delta))
		return false;
	if (source && session_differs(session) && !quoted_sequence(ctx, quoted, session, delta))
		return false;
	/* Often only eight bytes are quoted, and TCP's checksum is not among them. */
	if (checksum_at + 2 > ETH_HLEN + packet->ip_length || ctx_load(ctx, checksum_at, &field, 2))
		return true;
	if (session->protocol == IPPROTO_UDP && !field)
		return true;
	field = checksum_update(field, l4_delta);
	if (session->protocol != IPPROTO_TCP && session->protocol != IPPROTO_ICMP && !field)
		field = 0xffff;
	return quoted_word(ctx, checksum_at, field, delta);
}

/* Translates an ICMP error whole; false leaves a packet that must be dropped. */
__noinline bool icmp_error_rewrite(ctx_t *ctx, const struct packet *packet, const struct quoted *quoted,
				   const struct session *session, enum direction direction)
{
	bool in = direction == DIRECTION_IN;
	__u32 from, to;
	__u16 delta = 0, field;
	__u32 ip_at = ETH_HLEN;

	if (!packet || !quoted || !session)
		return false;
	if (!quoted_rewrite(ctx, packet, quoted, session, in, &delta))
		return false;
	if (ctx_load(ctx, packet->l4 + 2, &field, 2))
		return false;
	field = checksum_update(field, delta);
	if (ctx_store(ctx, packet->l4 + 2, &field, 2))
		return false;
	/* From inside any router may send it: all of them stand behind the session's external address. */
	from = in ? packet->tuple.destination : packet->tuple.source;
	to = in ? session->private_address : session->external_address;
	if (ctx_store(ctx, ip_at + (in ? 16 : 12), &to, 4) || ctx_load(ctx, ip_at + 10, &field, 2))
		return false;
	field = checksum_update(field, checksum_delta(from, to));
	return !ctx_store(ctx, ip_at + 10, &field, 2) && icmp_seal(ctx, packet->ip_length, packet->l4);
}
