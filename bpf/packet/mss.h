/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * MSS clamping: what SYNs say that their sender takes at most (RFC 9293 §3.7.1, RFC 6691) is made to fit the links on both
 * sides of the gateway, for paths whose ICMP is lost. It is never raised, and no option is added. Every option that says it
 * is seen to, as receivers differ in which they take; what is cut off or of another length is left alone.
 */
#pragma once

#include "packet.h"
#include "tcp_option.h"

#define MSS_HEADERS	40 /* of IPv4 and TCP without options, RFC 6691 */
#define TCP_CHECKSUM_AT 16

struct mss_walk {
	ctx_t *ctx;
	__u32 offset; /* of the options in the frame */
	__u32 length; /* of the options */
	__u32 at;
	__u16 most; /* host byte order */
	__u16 delta;
	bool changed;
	__u8 octet[TCP_OPTIONS_MOST + 4]; /* so that no option is read beyond it */
};

static __always_inline void mss_lower(struct mss_walk *walk, __u32 at, __u16 said)
{
	__u16 most = bpf_htons(walk->most);
	__u16 delta = checksum_fold((__u64)(__u16)~said + most);

	if (ctx_store(walk->ctx, walk->offset + at, &most, sizeof(most)))
		return;
	if (at & 1) /* half of it in each of two words */
		delta = delta << 8 | delta >> 8;
	walk->delta = checksum_add(walk->delta, delta);
	walk->changed = true;
}

static long mss_step(__u32 round, struct mss_walk *walk)
{
	__u32 at = walk->at, size = tcp_option_length(walk->octet, at, walk->length);

	if (!size)
		return 1;
	if (walk->octet[at] == MSS_OPTION && size == MSS_OPTION_SIZE &&
	    (walk->octet[at + 2] << 8 | walk->octet[at + 3]) > walk->most)
		mss_lower(walk, at + 2, walk->octet[at + 2] | walk->octet[at + 3] << 8);
	walk->at = at + size;
	return 0;
}

/* Lowers what the segment says to most. */
__noinline int mss_clamp(ctx_t *ctx, const struct packet *packet, __u16 most)
{
	struct mss_walk walk = {.ctx = ctx, .most = most};
	__u16 check;
	__u8 words;

	if (!packet || ctx_load(ctx, packet->l4 + 12, &words, sizeof(words)))
		return 0;
	walk.offset = packet->l4 + sizeof(struct tcphdr);
	walk.length = (words >> 4) * 4 - sizeof(struct tcphdr);
	if (walk.length == 0 || walk.length > TCP_OPTIONS_MOST || ctx_load(ctx, walk.offset, walk.octet, walk.length))
		return 0;
	bpf_loop(TCP_OPTIONS_MOST, mss_step, &walk, 0);
	if (packet->sum == SUM_PARTIAL) /* of the pseudo-header, which stays what it is */
		return 1;
	if (!walk.changed || ctx_load(ctx, packet->l4 + TCP_CHECKSUM_AT, &check, sizeof(check)))
		return 0;
	check = checksum_update(check, walk.delta);
	ctx_store(ctx, packet->l4 + TCP_CHECKSUM_AT, &check, sizeof(check));
	return 1;
}
