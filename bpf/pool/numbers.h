/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The numbers of a TCP segment, and whether they prove the client of a tentative session.
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

/* The same of a packet from outside. On its own, for the stack. */
__noinline bool tentative_is_proved(ctx_t *ctx, const struct session *session, const struct packet *packet)
{
	struct numbers numbers;

	return session && packet && numbers_read(ctx, packet, &numbers) &&
	       tentative_proves(session, &numbers, packet->tcp_flags);
}
