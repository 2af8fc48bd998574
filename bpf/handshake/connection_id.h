/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connection IDs of QUIC (RFC 9000 section 7.2): of which connection a client's datagram is. A client's first Initials are to
 * an ID that it has chosen; what it sends behind them with a long header is mostly to what its host calls itself. One to
 * another ID may begin another connection, as its port has been closed and given to it, which may ask for another host; or
 * the host has told the client an ID more. The daemon tells: the first can be read. Who guesses a client's port can send such
 * a one, and changes nothing by that while the client is heard of (guest_give_way).
 */
#pragma once

#include "../conntrack/guest.h"
#include "../packet/packet.h"

#define QUIC_LONG  0xc0 /* long header and fixed bit, RFC 9000 section 17.2 */
#define QUIC_SHORT 0x80 /* not set: short header; the fixed bit may be greased (RFC 9287) */

#define QUIC_INITIAL_LEAST 1200 /* octets of a datagram with a client's Initial, RFC 9000 section 14.1 */
#define QUIC_SHORT_LEAST   21	/* of any other: what header protection samples, RFC 9001 section 5.4.2 */

#define QUIC_EARLY     1 /* type of 0-RTT, RFC 9000 section 17.2: what is more is of a connection that its host knows */
#define QUIC_VERSION_2 0x6b3343cf /* RFC 9369: its types are those of version 1, and one more */

#define QUIC_IDS \
	5 /* where the destination's ID stands behind its length, and then the source's (RFC 8999 section 5.1) */
#define QUIC_ID_MOST  20
#define QUIC_ID_LEAST 8 /* of a client's first, RFC 9000 section 7.2 */

#define UDP_HEADER 8

/* What the first octets of a datagram tell, of which nothing is proved. */
enum quic_kind {
	QUIC_IS_OTHER,
	QUIC_IS_INITIAL,
	QUIC_IS_SHORT,
};

static __always_inline enum quic_kind quic_kind_of(ctx_t *ctx, const struct packet *packet)
{
	struct {
		struct udphdr udp;
		__u8 first;
		__u8 pad[3];
	} head = {};
	__u32 size = ctx_segment_size(ctx);

	if (packet->fragment || ctx_load(ctx, packet->l4, &head, sizeof(head.udp) + sizeof(head.first)))
		return QUIC_IS_OTHER;
	if (!size)
		size = bpf_ntohs(head.udp.len) - sizeof(head.udp);
	if (!(head.first & QUIC_SHORT))
		return size >= QUIC_SHORT_LEAST ? QUIC_IS_SHORT : QUIC_IS_OTHER;
	return (head.first & QUIC_LONG) == QUIC_LONG && size >= QUIC_INITIAL_LEAST ? QUIC_IS_INITIAL : QUIC_IS_OTHER;
}

/* A hash of the ID whose length is at the offset, never 0; 0 where there is none. */
static __always_inline __u16 quic_id(ctx_t *ctx, __u32 offset)
{
	__u64 id[3] = {};
	__u16 hash;
	__u8 length;

	if (ctx_load(ctx, offset, &length, sizeof(length)) || length > QUIC_ID_MOST)
		return 0;
	if (length && ctx_load(ctx, offset + sizeof(length), id, length))
		return 0;
	hash = hash_words(hash_words(id[0], id[1]), id[2]);
	return hash ? hash : 1;
}

/* What tells an Initial from those of other connections by the same ports: how the ID begins that its client has chosen. */
static __always_inline __u32 quic_begun(ctx_t *ctx, const struct packet *packet)
{
	__u32 begun = 0;

	ctx_load(ctx, packet->l4 + UDP_HEADER + QUIC_IDS + 1, &begun, sizeof(begun));
	return begun;
}

/* How a packet with a long header begins, whatever its version (RFC 8999 section 5.1). */
struct quic_head {
	__u8 first;
	__u8 version[4];
	__u8 length; /* of the destination's ID */
};

/* Its type as in version 1; that of an unknown version may be an Initial. */
static __always_inline __u32 quic_type(const struct quic_head *head)
{
	__u32 version, type = head->first >> 4;

	__builtin_memcpy(&version, head->version, sizeof(version));
	if (version == bpf_htonl(QUIC_VERSION_2))
		return (type - 1) & 3;
	return version == bpf_htonl(1) ? type & 3 : 0;
}

/*
 * Whether a client's datagram may be of another connection than the session's, which begins: an Initial or, of any length,
 * data that come with it (0-RTT). These keep no session alive that is in the way of theirs.
 */
__noinline int guest_begins(ctx_t *ctx, const struct packet *packet, const struct session *session)
{
	struct quic_head head;
	__u32 at, type;
	__u16 id;

	if (!packet || !session || packet->fragment)
		return 0;
	at = packet->l4 + UDP_HEADER;
	if (ctx_load(ctx, at, &head, sizeof(head)) || (head.first & QUIC_LONG) != QUIC_LONG ||
	    head.length < QUIC_ID_LEAST)
		return 0;
	type = quic_type(&head);
	if (type > QUIC_EARLY || (type < QUIC_EARLY && quic_kind_of(ctx, packet) != QUIC_IS_INITIAL))
		return 0;
	id = quic_id(ctx, at + QUIC_IDS);
	return !id || (id != session->proof.ids.client && id != session->proof.ids.host);
}

/* Notes by which ID a session's client calls its host from now on. Of another connection that tells no more than this. */
__noinline int guest_note(ctx_t *ctx, const struct packet *packet, struct session *session)
{
	if (!packet || !session || quic_kind_of(ctx, packet) != QUIC_IS_INITIAL)
		return 0;
	session->proof.ids.client = quic_id(ctx, packet->l4 + UDP_HEADER + QUIC_IDS);
	session->holds.guest.begun = clock_tick();
	return 1;
}

/* What a host calls itself in its answers. */
__noinline int guest_hears(ctx_t *ctx, const struct packet *packet, struct session *session)
{
	struct quic_head head;
	__u32 at;

	if (!packet || !session || packet->fragment)
		return 0;
	at = packet->l4 + UDP_HEADER;
	if (ctx_load(ctx, at, &head, sizeof(head)) || !(head.first & QUIC_SHORT) || head.length > QUIC_ID_MOST)
		return 0;
	session->proof.ids.host = quic_id(ctx, at + sizeof(head) + head.length);
	return 1;
}
