/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The numbers of a TCP segment, and whether they prove that its sender has seen what the other side sent.
 */
#pragma once

#include "../conntrack/sequence.h"

/* A segment's numbers, in host byte order. */
struct numbers {
	__u32 sequence;
	__u32 acknowledges;
	__u32 end; /* behind its data, and its SYN and FIN */
};

static __always_inline bool numbers_read(ctx_t *ctx, const struct packet *packet, struct numbers *numbers)
{
	__u32 word[3]; /* sequence, acknowledgement, and the data's offset in the high four bits */

	if (ctx_load(ctx, packet->l4 + 4, word, sizeof(word)))
		return false;
	numbers->sequence = bpf_ntohl(word[0]);
	numbers->acknowledges = bpf_ntohl(word[1]);
	numbers->end = numbers->sequence + packet->ip_length - (packet->l4 - ETH_HLEN) -
		       (bpf_ntohl(word[2]) >> 28) * 4 + !!(packet->tcp_flags & TCP_FLAG_SYN) +
		       !!(packet->tcp_flags & TCP_FLAG_FIN);
	return true;
}

/* Whether the segment from outside acknowledges what the host has sent. */
static __always_inline bool tentative_proves(const struct session *session, const struct numbers *numbers, __u8 flags)
{
	__u32 expected = session->holds.pool.expected;

	return (flags & TCP_FLAG_ACK) && session->life.as.tcp != TCP_SYN &&
	       numbers->acknowledges - expected <= session->proof.sent - expected;
}

/*
 * Whether who sent a segment has seen what the other side sent last. Of a tentative session its client proves, by any number
 * that the host has sent; of others, as far as the guard knows: one number of 6,553 is believed.
 */
__noinline bool segment_proves(ctx_t *ctx, const struct session *session, const struct packet *packet,
			       enum direction direction)
{
	struct numbers numbers;
	struct guard guard;

	if (!session || !packet || !(packet->tcp_flags & TCP_FLAG_ACK) || session->life.as.tcp <= TCP_SYN)
		return false;
	if (session->marks.as.flags & SESSION_TENTATIVE)
		return direction == DIRECTION_IN && numbers_read(ctx, packet, &numbers) &&
		       tentative_proves(session, &numbers, packet->tcp_flags);
	guard = session->proof.guard;
	return guard_is_seen(&guard, packet, direction);
}
