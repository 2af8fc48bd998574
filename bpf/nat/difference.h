/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The numbers of a session whose handshake the data plane has answered: to its client the host's numbers and timestamps are
 * others, by a constant difference, and its windows are scaled as the client was promised. The client's own are what they
 * are (handshake/host.h). Layouts of options that nearly all senders use are read in place; any other is walked through.
 */
#pragma once

#include "../conntrack/session.h"
#include "../handshake/offer.h"
#include "../include/errno.h"

#define OPTION_HEAD_TIMESTAMPS bpf_htonl(0x0101080a) /* NOP NOP, timestamps */

static __always_inline bool session_differs(const struct session *session)
{
	return session->origin >= ORIGIN_WEB && session->protocol == IPPROTO_TCP;
}

/* Adds to a number in network byte order, and notes the change. */
static __always_inline void difference_add(__be32 *field, __u32 difference, __u16 *delta)
{
	__u32 before = *field, after = bpf_htonl(bpf_ntohl(before) + difference);

	*field = after;
	*delta = checksum_add(*delta, checksum_delta(before, after));
}

static __always_inline __u16 window_shift(__u16 window, __s32 left)
{
	__u32 wide = bpf_ntohs(window);

	wide = left >= 0 ? wide << (left & 31) : wide >> (-left & 31);
	return bpf_htons(wide > 65535 ? 65535 : wide);
}

/* The window as the other side reads it. */
static __always_inline void difference_window(struct tcphdr *tcp, const struct session *session,
					      enum direction direction, __u16 *delta)
{
	__u8 client = session->holds.web.client_scale, host = session->holds.web.host_scale;
	__u16 before = tcp->window, after = before;

	if (client == HANDSHAKE_NONE)
		return;
	if (direction == DIRECTION_OUT)
		after = window_shift(before, (host == HANDSHAKE_NONE ? 0 : host) - HANDSHAKE_SCALE);
	else if (host == HANDSHAKE_NONE)
		after = window_shift(before, client);
	tcp->window = after;
	*delta = checksum_add(*delta, checksum_fold((__u64)(__u16)~before + after));
}

#define DIFFERENCE_CLOCK 8	   /* 2^8 of what our timestamps count are a tick */
#define DIFFERENCE_LATE	 32	   /* of these, by which ticks may be late */
#define DIFFERENCE_OURS	 (1 << 18) /* of these, longer than any cookie is good for */

/*
 * What is to be added to what a client echoes. Until it has heard its host that is a timestamp of ours, which its host has never
 * said: FreeBSD refuses that, and so does newer Linux (TSEcrRejected) until its handshake is over, which it is by data alone where
 * it defers who accepts (TCP_DEFER_ACCEPT). So it is made 0, which is no echo.
 */
static __always_inline __u32 difference_echo(__u32 opened, __u32 clock, __u32 echo)
{
	__u32 before = ((opened + 1) << DIFFERENCE_CLOCK) + DIFFERENCE_LATE - echo;

	return before - 1 < DIFFERENCE_OURS ? -echo : -clock;
}

struct difference_walk {
	__u32 length;
	__u32 at;
	__u32 sequence;	     /* to be added to what SACK says, */
	__u32 value;	     /* and to its timestamp; */
	__u32 opened, clock; /* of what it echoes, of the session */
	bool echoes;
	__u8 octet[TCP_OPTIONS_MOST + 12];
};

static __always_inline void difference_octets(struct difference_walk *walk, __u32 at, __u32 difference)
{
	__u32 value;

	if (at > TCP_OPTIONS_MOST)
		return;
	__builtin_memcpy(&value, &walk->octet[at], sizeof(value));
	value = bpf_htonl(bpf_ntohl(value) + difference);
	__builtin_memcpy(&walk->octet[at], &value, sizeof(value));
}

/* An echo of 0 is none. */
static __always_inline void difference_echoes(struct difference_walk *walk, __u32 at)
{
	__u32 echo;

	if (!walk->echoes || at > TCP_OPTIONS_MOST)
		return;
	__builtin_memcpy(&echo, &walk->octet[at], sizeof(echo));
	if (echo)
		difference_octets(walk, at, difference_echo(walk->opened, walk->clock, bpf_ntohl(echo)));
}

static long difference_step(__u32 round, struct difference_walk *walk)
{
	__u32 at = walk->at, length = tcp_option_length(walk->octet, at, walk->length);
	__u8 kind;

	if (!length)
		return 1;
	kind = walk->octet[at];
	if (kind == OPTION_TIMESTAMPS && length == 10) {
		difference_octets(walk, at + 2, walk->value);
		difference_echoes(walk, at + 6);
	}
	if (kind == OPTION_SACK && walk->sequence) {
		for (__u32 edge = 2; edge + 4 <= 34; edge += 4) {
			if (edge + 4 <= length)
				difference_octets(walk, at + edge, walk->sequence);
		}
	}
	walk->at = at + length;
	return 0;
}

/* Options of any layout. The change for the checksum, or a negative error. */
__noinline long difference_options(ctx_t *ctx, const struct packet *packet, const struct session *session,
				   enum direction direction)
{
	struct difference_walk walk = {};
	__u32 sum, offset;
	__u8 words;

	if (!packet || !session || ctx_load(ctx, packet->l4 + 12, &words, sizeof(words)))
		return -EINVAL;
	offset = packet->l4 + sizeof(struct tcphdr);
	walk.length = (words >> 4) * 4 - sizeof(struct tcphdr);
	if (!walk.length || walk.length > TCP_OPTIONS_MOST || ctx_load(ctx, offset, walk.octet, walk.length))
		return -EINVAL;
	if (direction == DIRECTION_OUT) {
		walk.value = session->holds.web.clock;
	} else {
		walk.sequence = -session->holds.web.difference;
		walk.echoes = true;
		walk.opened = session->opened;
		walk.clock = session->holds.web.clock;
	}
	sum = bpf_csum_diff((__be32 *)walk.octet, TCP_OPTIONS_MOST, 0, 0, 0);
	bpf_loop(TCP_OPTIONS_MOST, difference_step, &walk, 0);
	sum = bpf_csum_diff(0, 0, (__be32 *)walk.octet, TCP_OPTIONS_MOST, sum);
	if (!walk.length || walk.length > TCP_OPTIONS_MOST || ctx_store(ctx, offset, walk.octet, walk.length))
		return -EINVAL;
	return checksum_fold(sum);
}

/* Timestamps alone, as nearly all senders lay them out, in place; false for any other layout. */
static __always_inline bool difference_usual(void *options, void *end, __u32 length, const struct session *session,
					     enum direction direction, __u16 *delta)
{
	__be32 *word = options;

	if (length != 12 || (void *)(word + 3) > end || word[0] != OPTION_HEAD_TIMESTAMPS)
		return false;
	if (direction == DIRECTION_OUT)
		difference_add(&word[1], session->holds.web.clock, delta);
	else if (word[2]) /* an echo of 0 is none */
		difference_add(&word[2], difference_echo(session->opened, session->holds.web.clock, bpf_ntohl(word[2])),
			       delta);
	return true;
}

/*
 * Translates the numbers of a segment; packet->acknowledges is the host's from then on. False leaves a packet that must be
 * dropped.
 */
__noinline bool difference_apply(ctx_t *ctx, struct packet *packet, const struct session *session,
				 enum direction direction)
{
	void *end = (void *)(long)ctx->data_end;
	__u64 offset;
	struct tcphdr *tcp;
	__u32 length;
	__u16 delta = 0;
	bool usual;

	if (!packet || !session)
		return false;
	offset = packet->l4;
	barrier_var(offset);
	if (offset > ETH_HLEN + 60)
		return false;
	tcp = (void *)(long)ctx->data + offset;
	barrier_var(tcp);
	if ((void *)(tcp + 1) > end)
		return false;
	if (direction == DIRECTION_OUT) {
		difference_add(&tcp->seq, session->holds.web.difference, &delta);
	} else if (packet->tcp_flags & TCP_FLAG_ACK) {
		difference_add(&tcp->ack_seq, -session->holds.web.difference, &delta);
		packet->acknowledges = *(__u16 *)&tcp->ack_seq;
	}
	if (!(packet->tcp_flags & TCP_FLAG_SYN))
		difference_window(tcp, session, direction, &delta);
	length = tcp->doff * 4 - sizeof(*tcp);
	usual = !length || difference_usual(tcp + 1, end, length, session, direction, &delta);
	if (!usual) {
		long walked = difference_options(ctx, packet, session, direction);

		if (walked < 0)
			return false;
		delta = checksum_add(delta, walked);
		ctx_pull(ctx, offset + sizeof(*tcp));
		tcp = (void *)(long)ctx->data + offset;
		barrier_var(tcp);
		if ((void *)(tcp + 1) > (void *)(long)ctx->data_end)
			return false;
	}
	if (packet->sum != SUM_PARTIAL) /* of the pseudo-header, which stays what it is */
		tcp->check = checksum_update(tcp->check, delta);
	return true;
}
