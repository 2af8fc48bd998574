/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The identification of packets that go out. Hosts inside choose theirs without each other, and behind one address two
 * would use one at a time: what may be divided on its way gets another, counted for each pair of addresses. What may not
 * keeps its own, which nobody looks at (RFC 6864 section 4.1).
 */
#pragma once

#include "../conntrack/index.h"
#include "../packet/packet.h"

/* The first of so many for packets of the session, in network byte order. Pairs of one hash share a count. */
static __always_inline __u16 identification_next(const struct session *session, __u32 packets)
{
	__u64 hash = hash_words((__u64)session->external_address << 32 | session->remote_address, session->protocol);
	__u32 place = hash & (IDENTIFICATIONS - 1);
	__u32 *count = bpf_map_lookup_elem(&identifications, &place);

	return bpf_htons((hash >> 48) + (count ? __sync_fetch_and_add(count, packets) : 0));
}

static __always_inline bool identification_write(ctx_t *ctx, __u16 identification)
{
	struct iphdr *ip = (void *)(long)ctx->data + ETH_HLEN;

	if ((void *)(ip + 1) > (void *)(long)ctx->data_end)
		return false;
	ip->check = checksum_update(ip->check, checksum_fold((__u64)(__u16)~ip->id + identification));
	ip->id = identification;
	return true;
}
