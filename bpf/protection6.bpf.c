// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the functions "allowlist", "blocklist" and "geofence" say of an IPv6 packet that is to pass. IPv6 has no sessions
 * here, so that each packet is judged, and its flow's direction is told from the packet. The program is entered by tail
 * call; there is one for each generation, with tables of its own. XDP_ABORTED: it cannot say.
 */
#include <stdbool.h>

#include "include/header6.h"
#include "include/remote6.h"

/* Under which the functions count, 0 for one that is not there. */
const volatile __u32 allowlist6;
const volatile __u32 blocklist6;
const volatile __u32 geofence6;

static __always_inline bool is_link_local6(const struct in6_addr *address)
{
	return (address->in6_u.u6_addr32[0] & bpf_htonl(0xffc00000)) == bpf_htonl(0xfe800000);
}

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

/* Counts a function that is asked; true where it drops. */
static __always_inline bool drops6(struct nf_packet *told, __u32 function, __u32 marks, enum remote_mark mark)
{
	struct nf_count *count = function ? nf_count(function) : 0;

	if (!count)
		return false;
	count->seen++;
	if ((marks & (mark | REMOTE_ALLOWED)) != mark)
		return false;
	told->function = function;
	return true;
}

SEC("xdp")
int protection6(struct xdp_md *ctx)
{
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct ipv6hdr *ip = (void *)(eth + 1);
	struct nf_packet *told = nf_packet();
	const struct in6_addr *remote;
	struct nf_count *count;
	enum opening6 opening;
	__u32 marks, others;
	bool inward;

	if (!told || (void *)(ip + 1) > (void *)(long)ctx->data_end)
		return XDP_ABORTED;
	inward = told->direction == NF_IN;
	remote = inward ? &ip->saddr : &ip->daddr;
	if (is_link_local6(&ip->saddr) || is_link_local6(&ip->daddr) || is_multicast6(remote))
		return XDP_PASS;
	opening = header6_opening(ctx, ip, inward);
	if (opening == OPENING6_NONE)
		return XDP_PASS;
	if (!remote6_find(word6(remote, 0), word6(remote, 1), &marks))
		return XDP_ABORTED;
	others = inward ? marks >> REMOTE_MARKS : marks; /* of flows that the other end began */
	marks = inward ? marks : marks >> REMOTE_MARKS;
	if (opening == OPENING6_OTHER || (opening == OPENING6_EITHER && !is_dropped6(others)))
		marks = others;
	count = nf_count(allowlist6);
	if (count)
		count->seen++;
	return drops6(told, blocklist6, marks, REMOTE_BLOCKED) || drops6(told, geofence6, marks, REMOTE_FENCED)
		       ? XDP_DROP
		       : XDP_PASS;
}

/* Types that Go needs and no map names. */
struct exported {
	enum remote_mark mark;
	enum remote6_limit limit;
};
const struct exported *exported __attribute__((unused));

char _license[] SEC("license") = "Dual BSD/GPL";
