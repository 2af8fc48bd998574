/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ICMP errors between edges, about packets that came through the tunnel or went into it (RFC 5508 section 4). What they quote
 * has two addresses of which the other side knows none, and the port of a service may be another, too.
 */
#pragma once

#include "../nat/icmp.h"
#include "../path/judge.h"
#include "../path/public_error.h"
#include "pact.h"
#include "rewrite.h"
#include "send.h"

/* What a quoted packet becomes. */
struct edge_quote {
	__u32 source;
	__u32 destination;
	__u16 port;	     /* of the host that this edge knows */
	__u16 address_delta; /* of both addresses */
	__u16 l4_delta;	     /* of what the quoted checksum covers */
	__u8 from_host;	     /* that host has sent it, else it was sent to it */
};

/* Translates what is quoted; delta collects the change for the checksum of the error. */
__noinline bool edge_quoted_rewrite(ctx_t *ctx, const struct packet *packet, const struct quoted *quoted,
				    const struct edge_quote *quote)
{
	__u32 addresses[2], checksum_at;
	bool has_port;
	__u16 delta = 0, field;
	__u8 protocol;

	if (!packet || !quoted || !quote)
		return false;
	protocol = quoted->tuple.protocol;
	checksum_at = quoted->l4 + quoted_checksum_offset(protocol);
	/* The answering side of a query has no port in the packet. */
	has_port = !is_basic(protocol) && (protocol != IPPROTO_ICMP || quote->from_host != quoted->reply);
	addresses[0] = quote->source;
	addresses[1] = quote->destination;
	if (ctx_store(ctx, quoted->ip + 12, addresses, sizeof(addresses)) ||
	    ctx_load(ctx, quoted->ip + 10, &field, sizeof(field)))
		return false;
	delta = quote->address_delta;
	if (!quoted_word(ctx, quoted->ip + 10, checksum_update(field, quote->address_delta), &delta))
		return false;
	if (has_port &&
	    !quoted_word(ctx, quoted->l4 + quoted_port_offset(protocol, quote->from_host), quote->port, &delta))
		return false;
	/* Often only eight bytes are quoted, and TCP's checksum is not among them. */
	if ((has_port || basic_has_sum(protocol)) && checksum_at + 2 <= ETH_HLEN + packet->ip_length &&
	    !ctx_load(ctx, checksum_at, &field, sizeof(field)) && (protocol != IPPROTO_UDP || field)) {
		field = checksum_update(field, quote->l4_delta);
		if (protocol != IPPROTO_TCP && protocol != IPPROTO_ICMP && !field)
			field = 0xffff;
		if (!quoted_word(ctx, checksum_at, field, &delta))
			return false;
	}
	if (ctx_load(ctx, packet->l4 + 2, &field, sizeof(field)))
		return false;
	field = checksum_update(field, delta);
	return !ctx_store(ctx, packet->l4 + 2, &field, sizeof(field)) && icmp_seal(ctx, packet->ip_length, packet->l4);
}

/* Its session by this pact; 0: none. */
static __always_inline __u32 edge_quoted_find(const struct session_key *key, const struct pact *pact)
{
	__u32 number = session_find(key);
	struct session *session = session_at(number);

	return number && session && session->life.as.phase == PHASE_LIVE &&
			       session_is_by(session, pact->own_tag, pact->peer_tag)
		       ? number
		       : 0;
}

/* What the other edge calls a port of the host: by the pact's services. */
static __always_inline __u16 pact_port_outside(const struct pact *pact, __u8 protocol, __u16 to)
{
#pragma unroll
	for (int i = 0; i < PACT_SERVICES; i++) {
		if (i < pact->services && pact->protocol[i] == protocol && pact->to[i] == to)
			return pact->port[i];
	}
	return to;
}

/* The same the other way round. */
static __always_inline __u16 pact_port_inside(const struct pact *pact, __u8 protocol, __u16 port)
{
#pragma unroll
	for (int i = 0; i < PACT_SERVICES; i++) {
		if (i < pact->services && pact->protocol[i] == protocol && pact->port[i] == port)
			return pact->to[i];
	}
	return port;
}

static __always_inline __u16 edge_quoted_delta(__u8 protocol, __u16 address_delta, __u16 from, __u16 to)
{
	__u16 port = checksum_delta(from, to);

	return protocol == IPPROTO_ICMP ? port : checksum_add(address_delta, port);
}

static __always_inline bool interface_is_private(ctx_t *ctx)
{
	__u32 ingress = ctx_ifindex(ctx);
	struct interface *interface = bpf_map_lookup_elem(&interface_table, &ingress);

	return interface && interface->side == SIDE_PRIVATE;
}

/*
 * An error from inside, about a packet to the pact's host. Whoever sends it, to the other edge it is that host. The session in
 * *number: there is none yet where a packet had no hop left before it opened one. REASON_NONE where chains are to judge that.
 */
__noinline enum reason edge_error_out_admit(ctx_t *ctx, const struct packet *packet, const struct pact *pact,
					    __u32 *number)
{
	struct quoted quoted = {};
	struct session_key key;
	enum reason reason;

	if (!packet || !pact || !number)
		return REASON_DROP_INTERNAL;
	reason = quoted_parse(ctx, packet, &quoted);
	if (reason != REASON_NONE)
		return reason;
	if (quoted.tuple.source != pact->proxy || quoted.tuple.destination != pact->host)
		return REASON_DROP_NO_SESSION;
	/* One that the gateway has made of a packet of the tunnel came by another interface. */
	if (interface_is_private(ctx) && source_is_spoofed(ctx, packet, SIDE_PRIVATE))
		return REASON_DROP_SPOOFED_SOURCE;
	if (is_banned(pact->proxy))
		return REASON_DROP_BANNED;
	key = destination_key(&quoted.tuple, KEY_INSIDE);
	*number = edge_quoted_find(&key, pact);
	if (!*number && packet->tuple.source != pact->host)
		return REASON_DROP_NO_SESSION;
	return icmp_checksum_is_wrong(ctx, packet, &quoted) ? REASON_DROP_BAD_CHECKSUM : REASON_NONE;
}

/* The same when it may pass. Functions may have changed what it is about. */
__noinline bool edge_error_out_rewrite(ctx_t *ctx, const struct packet *packet, const struct pact *pact,
				       const struct session *session)
{
	struct edge_quote quote = {};
	struct quoted quoted = {};
	__u8 protocol;
	__u16 inside;

	if (!packet || !pact || quoted_parse(ctx, packet, &quoted) != REASON_NONE ||
	    quoted.tuple.source != pact->proxy || quoted.tuple.destination != pact->host)
		return false;
	protocol = quoted.tuple.protocol;
	inside = quoted.tuple.destination_port;
	quote.source = bpf_htonl(pact->peer_tag);
	quote.destination = bpf_htonl(pact->own_tag);
	quote.port = session ? session->external_port : pact_port_outside(pact, protocol, inside);
	quote.address_delta = pact->delta;
	quote.l4_delta = edge_quoted_delta(protocol, pact->delta, inside, quote.port);
	return edge_quoted_rewrite(ctx, packet, &quoted, &quote);
}

/* The last steps of one from inside. */
__noinline int edge_error_out_send(ctx_t *ctx, const struct packet *packet, struct pact *pact, struct link *link)
{
	struct control *control = control_get();
	__u32 tick = clock_tick();
	struct next_hop *hop;
	__u16 delta;

	if (!packet || !pact || !link || !control)
		return CTX_DROP;
	if (packet->ttl <= 1)
		return verdict(ctx, packet, REASON_DROP_TTL_EXPIRED, SIDE_PRIVATE);
	if (link_hop(ctx, link, control->route_epoch, tick, &hop) != ROUTE_FOUND)
		return verdict(ctx, packet, REASON_DROP_NO_ROUTE, SIDE_PRIVATE);
	if (packet->wire_length > link_most(link, hop))
		return verdict(ctx, packet, REASON_DROP_TOO_BIG, SIDE_PRIVATE);
	ctx_pull(ctx, PACKET_HEADERS);
	delta = checksum_add(checksum_delta(packet->tuple.source, bpf_htonl(pact->own_tag)),
			     checksum_delta(packet->tuple.destination, bpf_htonl(pact->peer_tag)));
	if (!edge_address(ctx, pact->own_tag, pact->peer_tag, delta))
		return verdict(ctx, packet, REASON_DROP_INTERNAL, SIDE_PRIVATE);
	return edge_send(ctx, packet, link, hop, edge_hash(pact, packet));
}

static __always_inline int edge_error_out(ctx_t *ctx, struct packet *packet, struct pact *pact, struct link *link)
{
	struct session *session;
	enum reason reason;
	__u32 number = 0;

	reason = link ? edge_error_out_admit(ctx, packet, pact, &number) : REASON_DROP_NO_LINK;
	if (reason != REASON_NONE)
		return verdict(ctx, packet, reason, SIDE_PRIVATE);
	session = number ? dry_copy(session_at(number)) : 0;
	if (session)
		reason = error_judge(ctx, session, packet, DIRECTION_OUT);
	if (reason != REASON_NONE)
		return verdict(ctx, packet, reason, SIDE_PRIVATE);
	if (!edge_error_out_rewrite(ctx, packet, pact, session))
		return verdict(ctx, packet, REASON_DROP_MALFORMED, SIDE_PRIVATE);
	return edge_error_out_send(ctx, packet, pact, link);
}

/*
 * An error from the tunnel, about a packet that the pact's host has sent; the error's own addresses are inside ones already. Its
 * session in *number. REASON_NONE where chains are to judge that.
 */
__noinline enum reason edge_error_in_admit(ctx_t *ctx, const struct packet *packet, const struct pact *pact,
					   __u32 *number)
{
	struct quoted quoted = {};
	struct session_key key = {};
	enum reason reason;
	__u16 port;

	if (!packet || !pact || !number)
		return REASON_DROP_INTERNAL;
	reason = quoted_parse(ctx, packet, &quoted);
	if (reason != REASON_NONE)
		return reason;
	if (quoted.tuple.source != bpf_htonl(pact->own_tag) || quoted.tuple.destination != bpf_htonl(pact->peer_tag))
		return REASON_DROP_NO_SESSION;
	port = quoted.tuple.source_port;
	quoted.tuple.source = pact->host;
	quoted.tuple.destination = pact->proxy;
	quoted.tuple.source_port = pact_port_inside(pact, quoted.tuple.protocol, port);
	key = source_key(&quoted.tuple);
	*number = edge_quoted_find(&key, pact);
	if (!*number && quoted.tuple.source_port != port) {
		quoted.tuple.source_port = port;
		key = source_key(&quoted.tuple);
		*number = edge_quoted_find(&key, pact);
	}
	if (!*number)
		return REASON_DROP_NO_SESSION;
	if (is_banned(pact->proxy))
		return REASON_DROP_BANNED;
	return icmp_checksum_is_wrong(ctx, packet, &quoted) ? REASON_DROP_BAD_CHECKSUM : REASON_NONE;
}

__noinline bool edge_error_in_rewrite(ctx_t *ctx, const struct packet *packet, const struct pact *pact,
				      const struct session *session)
{
	struct edge_quote quote = {.from_host = true};
	struct quoted quoted = {};

	if (!packet || !pact || !session || quoted_parse(ctx, packet, &quoted) != REASON_NONE ||
	    quoted.tuple.source != bpf_htonl(pact->own_tag) || quoted.tuple.destination != bpf_htonl(pact->peer_tag))
		return false;
	quote.source = pact->host;
	quote.destination = pact->proxy;
	quote.port = session->private_port;
	quote.address_delta = ~pact->delta;
	quote.l4_delta = edge_quoted_delta(quoted.tuple.protocol, ~pact->delta, quoted.tuple.source_port, quote.port);
	return edge_quoted_rewrite(ctx, packet, &quoted, &quote);
}

__noinline int edge_error_in_send(ctx_t *ctx, const struct packet *packet, const struct pact *pact,
				  struct session *session)
{
	struct control *control = control_get();
	struct next_hop *hop;

	if (!packet || !pact || !session || !control)
		return CTX_DROP;
	if (packet->ttl <= 1)
		return verdict(ctx, packet, REASON_DROP_TTL_EXPIRED, SIDE_PUBLIC);
	if (forward_hop(ctx, session, DIRECTION_IN, clock_tick(), control->route_epoch, &hop) != ROUTE_FOUND)
		return verdict(ctx, packet, REASON_DROP_NO_ROUTE, SIDE_PUBLIC);
	if (!edge_error_in_rewrite(ctx, packet, pact, session))
		return verdict(ctx, packet, REASON_DROP_MALFORMED, SIDE_PUBLIC);
	ctx_pull(ctx, PACKET_HEADERS);
	return forward_send(ctx, packet, hop, SIDE_PUBLIC);
}

static __always_inline int edge_error_in(ctx_t *ctx, struct packet *packet, const struct pact *pact)
{
	struct session *session;
	enum reason reason;
	__u32 number = 0;

	reason = edge_error_in_admit(ctx, packet, pact, &number);
	session = number ? dry_copy(session_at(number)) : 0;
	if (reason == REASON_NONE && session)
		reason = error_judge(ctx, session, packet, DIRECTION_IN);
	if (reason != REASON_NONE || !session)
		return verdict(ctx, packet, reason, SIDE_PUBLIC);
	return edge_error_in_send(ctx, packet, pact, session);
}
