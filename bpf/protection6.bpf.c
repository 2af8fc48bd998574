// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the functions of the protection (nf/protection.bpf.c) say of an IPv6 packet that is to pass. IPv6 has no sessions
 * here, so that each packet is judged, and its flow's direction is taken from the packet. The program is entered by tail
 * call; there is one for each generation, with tables of its own. SAID_NOTHING: it cannot say.
 */
#include <linux/in.h>
#include <stdbool.h>

#include "packet/header6.h"
#include "guard/port_marks.h"
#include "guard/remote6.h"

/* Under which the functions count, 0 for one that is not there. */
const volatile __u32 allowlist6;
const volatile __u32 blocklist6;
const volatile __u32 ports6;
const volatile __u32 honeypot6;
const volatile __u32 geofence6;

static __always_inline bool is_multicast6(const struct in6_addr *address)
{
	return address->in6_u.u6_addr8[0] == 0xff;
}

static __always_inline __u64 word6(const struct in6_addr *address, int half)
{
	return (__u64)bpf_ntohl(address->in6_u.u6_addr32[2 * half]) << 32 |
	       bpf_ntohl(address->in6_u.u6_addr32[2 * half + 1]);
}

static __always_inline bool is_dropped6(__u32 marks)
{
	return !(marks & REMOTE_ALLOWED) && marks & (REMOTE_BLOCKED | REMOTE_FENCED);
}

/* Counts a function that is asked; false where there is none. */
static __always_inline bool asks6(__u32 function)
{
	struct nf_count *count = function ? nf_count(function) : 0;

	if (count)
		count->seen++;
	return count;
}

static __always_inline bool drops6(struct nf_packet *nf, __u32 function, __u32 marks, enum remote_mark mark)
{
	if (!asks6(function) || (marks & (mark | REMOTE_ALLOWED)) != mark)
		return false;
	nf->function = function;
	return true;
}

/* What is known of the port that the flow goes to; where nobody can tell which that is, what holds of both. */
static __always_inline __u8 flow6_ports(const struct header6 *header, enum opening6 opening)
{
	__u8 source = port_marks_of(header->protocol, header->source);
	__u8 destination = port_marks_of(header->protocol, header->destination);

	if (opening == OPENING6_SENDER)
		return destination;
	if (opening == OPENING6_OTHER)
		return source;
	return ((source | destination) & PORT_IGNORED) | (source & destination & PORT_UNMONITORED);
}

/* What comes to a port of the honeypot is dropped, but for TCP that may answer a flow of whoever has the port. */
static __always_inline bool is_honeypot6(struct nf_packet *nf, const struct header6 *header, enum opening6 opening)
{
	__u8 marks = port_marks_of(header->protocol, header->destination);

	if (!asks6(honeypot6) || (marks & (PORT_HONEYPOT | PORT_IGNORED)) != PORT_HONEYPOT || opening == OPENING6_OTHER)
		return false;
	nf->honeypot = NF_HONEYPOT_HIT;
	nf->answers = header->protocol == IPPROTO_TCP && opening == OPENING6_EITHER;
	if (nf->answers)
		return false;
	nf->function = honeypot6;
	return true;
}

/* Whether a function drops a packet, of which the marks of its remote end are known. */
static __always_inline bool judges6(struct nf_packet *nf, __u32 marks, const struct header6 *header,
				    enum opening6 opening)
{
	__u8 ports = 0;

	asks6(allowlist6);
	if (drops6(nf, blocklist6, marks, REMOTE_BLOCKED))
		return true;
	if (asks6(ports6))
		ports = flow6_ports(header, opening);
	if (nf->direction == NF_IN && !(marks & REMOTE_ALLOWED) && is_honeypot6(nf, header, opening))
		return true;
	if (ports & (PORT_IGNORED | PORT_UNMONITORED))
		return false;
	return drops6(nf, geofence6, marks, REMOTE_FENCED);
}

SEC(CTX_SECTION)
int protection6(ctx_t *ctx)
{
	struct nf_packet *nf = nf_packet();
	struct ipv6hdr *ip;
	const struct in6_addr *remote;
	struct header6 header = {};
	enum opening6 opening;
	__u32 marks, others;
	bool inward;

	ctx_pull(ctx, HEADER6_REACH);
	ip = (void *)(long)ctx->data + ETH_HLEN;
	if (!nf || (void *)(ip + 1) > (void *)(long)ctx->data_end)
		return SAID_NOTHING;
	inward = nf->direction == NF_IN;
	remote = inward ? &ip->saddr : &ip->daddr;
	if (is_link_local6(ip->saddr.in6_u.u6_addr32[0]) || is_link_local6(ip->daddr.in6_u.u6_addr32[0]) ||
	    is_multicast6(remote))
		return SAID_PASS;
	/* Before the headers, after which there are many cases, and the verifier would look at it for each. */
	if (!remote6_find(word6(remote, 0), word6(remote, 1), &marks))
		return SAID_NOTHING;
	opening = header6_opening(ctx, ip, inward, &header);
	if (opening == OPENING6_NONE)
		return SAID_PASS;
	others = inward ? marks >> REMOTE_MARKS : marks; /* of flows that the other end began */
	marks = inward ? marks : marks >> REMOTE_MARKS;
	if (opening == OPENING6_OTHER || (opening == OPENING6_EITHER && !is_dropped6(others)))
		marks = others;
	return judges6(nf, marks, &header, opening) ? SAID_DROP : SAID_PASS;
}

/* Types that Go needs and no map names. */
struct exported {
	enum remote_mark mark;
	enum remote6_limit limit;
};
const struct exported *exported __attribute__((unused));

char _license[] SEC("license") = "Dual BSD/GPL";
