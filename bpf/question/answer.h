/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tells an asker to come by TCP: its question with TC=1 (RFC 1035 section 4.1.1), which is never longer than what it
 * sent. It goes back where it came from, as other answers of the data plane do.
 */
#pragma once

#include "cookie.h"
#include "../packet/packet.h"

#define QUESTION_TTL 64
#define QUESTION_UDP 1232 /* our UDP payload size: no fragments on any usual path */

#define QUESTION_HEADERS (ETH_HLEN + sizeof(struct datagram)) /* in front of a message */

struct datagram {
	struct iphdr ip; /* without options */
	struct udphdr udp;
};

static __always_inline void question_put16(struct question *q, __u32 at, __u16 value)
{
	q->octet[at & 511] = value >> 8;
	q->octet[(at + 1) & 511] = value;
}

/* Our OPT record at the end of the answer, with a fresh cookie where the question has left room for one. */
static __always_inline __u32 question_put_edns(struct question *q, __u32 asker)
{
	__u32 at = q->end;
	bool cookie = q->cookie && at + QUESTION_OPT + COOKIE_ROOM <= q->length;

	q->octet[at & 511] = 0;
	question_put16(q, at + 1, DNS_TYPE_OPT);
	question_put16(q, at + 3, QUESTION_UDP);
	question_put16(q, at + 5, 0); /* extended RCODE and version */
	question_put16(q, at + 7, q->dnssec_ok ? 0x8000 : 0);
	question_put16(q, at + 9, cookie ? COOKIE_ROOM : 0);
	at += QUESTION_OPT;
	if (!cookie || !cookie_make(q, asker))
		return at;
	question_put16(q, at, DNS_OPTION_COOKIE);
	question_put16(q, at + 2, COOKIE_ROOM - 4);
	__builtin_memcpy(&q->octet[(at + 4) & 511], &q->client, 8);
	__builtin_memcpy(&q->octet[(at + 12) & 511], &q->head, 8);
	__builtin_memcpy(&q->octet[(at + 20) & 511], &q->hash, 8);
	return at + COOKIE_ROOM;
}

/* Makes the answer of the message; its length, 0 where there is none. authoritative: it is about a name of ours. */
__noinline __u32 question_truncate(struct question *q, __u32 asker, bool authoritative)
{
	__u16 flags;
	__u32 length;

	if (!q || q->end < QUESTION_HEADER || q->end > QUESTION_MOST)
		return 0;
	flags = question_u16(q, 2) & (DNS_FLAG_RD | DNS_FLAG_CD);
	question_put16(q, 2, flags | DNS_FLAG_QR | DNS_FLAG_TC | (authoritative ? DNS_FLAG_AA : 0));
	question_put16(q, 10, q->edns);
	length = q->edns ? question_put_edns(q, asker) : q->end;
	return length <= q->length ? length : 0;
}

/*
 * Makes of a datagram's headers those of the answer to it, whose message is in q->octet, length octets of it. partial: an
 * interface fills in the checksum.
 */
static __always_inline void question_address(struct question *q, struct datagram *datagram, __u32 length, bool partial)
{
	struct {
		__be32 source, destination;
		__u8 zero, protocol;
		__be16 length;
		struct udphdr udp;
	} pseudo = {.protocol = IPPROTO_UDP};
	struct datagram out = {};
	__u32 end = length;

	out.ip.version = 4;
	out.ip.ihl = sizeof(out.ip) / 4;
	out.ip.tot_len = bpf_htons(sizeof(out) + length);
	out.ip.frag_off = bpf_htons(IP_DONT_FRAGMENT);
	out.ip.ttl = QUESTION_TTL;
	out.ip.protocol = IPPROTO_UDP;
	out.ip.saddr = datagram->ip.daddr;
	out.ip.daddr = datagram->ip.saddr;
	out.ip.check = ~checksum_fold(bpf_csum_diff(0, 0, (__be32 *)&out.ip, sizeof(out.ip), 0));
	out.udp.source = datagram->udp.dest;
	out.udp.dest = datagram->udp.source;
	out.udp.len = bpf_htons(sizeof(out.udp) + length);
	pseudo.source = out.ip.saddr;
	pseudo.destination = out.ip.daddr;
	pseudo.length = out.udp.len;
	if (partial) {
		out.udp.check = checksum_fold(bpf_csum_diff(0, 0, (__be32 *)&pseudo, sizeof(pseudo), 0));
		*datagram = out;
		return;
	}
	pseudo.udp = out.udp;
	asm volatile("%0 &= 511" : "+r"(end));			   /* for the verifier */
	q->octet[end] = q->octet[end + 1] = q->octet[end + 2] = 0; /* it is summed in words */
	out.udp.check = ~checksum_fold(bpf_csum_diff(0, 0, (__be32 *)q->octet, (end + 3) & 508,
						     bpf_csum_diff(0, 0, (__be32 *)&pseudo, sizeof(pseudo), 0)));
	if (!out.udp.check)
		out.udp.check = 0xffff; /* 0 would say that there is none (RFC 768) */
	*datagram = out;
}

/* Puts the answer into the frame; false where it cannot. */
static __always_inline bool question_write(ctx_t *ctx, struct question *q, struct datagram *datagram,
					   bool authoritative)
{
	__u32 start = sum_start(ctx), ifindex = ctx_ifindex(ctx),
	      length = question_truncate(q, datagram->ip.saddr, authoritative);
	struct interface *interface = bpf_map_lookup_elem(&interface_table, &ifindex);
	struct ethhdr link;

	if (!interface || length < QUESTION_HEADER || length > QUESTION_MOST || ctx_load(ctx, 0, &link, sizeof(link)))
		return false;
	if (start && start != ETH_HLEN + sizeof(datagram->ip))
		return false;
	question_address(q, datagram, length, start);
	__builtin_memcpy(link.h_dest, link.h_source, 6);
	__builtin_memcpy(link.h_source, interface->mac, 6);
	if (!ctx_resize(ctx, 0, QUESTION_HEADERS + length) || ctx_store(ctx, 0, &link, sizeof(link)) ||
	    ctx_store(ctx, ETH_HLEN, datagram, sizeof(*datagram)))
		return false;
	barrier_var(length); /* once more for the verifier, who has lost its bounds */
	return length && length <= QUESTION_MOST && !ctx_store(ctx, QUESTION_HEADERS, q->octet, length);
}
