/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a segment's options offer or say: maximum segment size (RFC 9293 §3.7.1), window scale and timestamps (RFC 7323),
 * selective acknowledgement (RFC 2018). Of an option that is there twice the last one holds.
 */
#pragma once

#include "../packet/mss.h"
#include "types.h"

#define MSS_DEFAULT 536

struct offer {
	__u32 value; /* timestamps, in host byte order */
	__u32 echo;
	__u16 mss;
	__u8 scale; /* HANDSHAKE_NONE: none */
	__u8 sack;
	__u8 timestamps;
};

struct offer_walk {
	struct offer offer;
	__u32 length;
	__u32 at;
	__u8 octet[TCP_OPTIONS_MOST + 12]; /* so that no option is read beyond it */
};

static __always_inline __u32 offer_word(const struct offer_walk *walk, __u32 at)
{
	return (__u32)walk->octet[at] << 24 | walk->octet[at + 1] << 16 | walk->octet[at + 2] << 8 |
	       walk->octet[at + 3];
}

static long offer_step(__u32 round, struct offer_walk *walk)
{
	__u32 at = walk->at, length = tcp_option_length(walk->octet, at, walk->length);
	__u8 kind;

	if (!length)
		return 1;
	kind = walk->octet[at];
	if (kind == MSS_OPTION && length == MSS_OPTION_SIZE) {
		walk->offer.mss = walk->octet[at + 2] << 8 | walk->octet[at + 3];
	} else if (kind == OPTION_SCALE && length == 3) {
		walk->offer.scale = walk->octet[at + 2] > 14 ? 14 : walk->octet[at + 2];
	} else if (kind == OPTION_SACK_PERMITTED && length == 2) {
		walk->offer.sack = 1;
	} else if (kind == OPTION_TIMESTAMPS && length == 10) {
		walk->offer.timestamps = 1;
		walk->offer.value = offer_word(walk, at + 2);
		walk->offer.echo = offer_word(walk, at + 6);
	}
	walk->at = at + length;
	return 0;
}

/* False for a segment without a whole header. */
__noinline bool offer_read(ctx_t *ctx, const struct packet *packet, struct offer *offer)
{
	struct offer_walk walk = {.offer = {.mss = MSS_DEFAULT, .scale = HANDSHAKE_NONE}};
	__u8 words;

	if (!packet || !offer || ctx_load(ctx, packet->l4 + 12, &words, sizeof(words)))
		return false;
	walk.length = (words >> 4) * 4 - sizeof(struct tcphdr);
	if (walk.length > TCP_OPTIONS_MOST ||
	    (walk.length && ctx_load(ctx, packet->l4 + sizeof(struct tcphdr), walk.octet, walk.length)))
		return false;
	bpf_loop(TCP_OPTIONS_MOST, offer_step, &walk, 0);
	*offer = walk.offer;
	return true;
}
