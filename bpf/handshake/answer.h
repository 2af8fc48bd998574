/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The answer to a SYN by a cookie: what is promised of the host, before it is known or asked.
 */
#pragma once

#include "../path/forward.h"
#include "syn_cookie.h"
#include "write.h"

#define COOKIES_PER_TICK 53687 /* on each CPU: about 200,000 a second */

static __always_inline __u32 handshake_clock(void)
{
	return bpf_ktime_get_ns() >> HANDSHAKE_CLOCK;
}

static __always_inline bool syn_cookie_is_paid(void)
{
	struct budget *budget = budget_get();

	return budget && budget->cookies++ < COOKIES_PER_TICK;
}

/* The MSS that an address promises, within what fits the link that its client comes by. */
static __always_inline __u16 web_mss(ctx_t *ctx, const struct packet *packet, __u16 promised)
{
	struct settings *settings = settings_get(packet->generation);
	__u32 mtu, most = promised;

	if (!settings || settings->mss == MSS_OFF)
		return promised;
	mtu = interface_mtu(ctx, 0);
	if (mtu > MSS_HEADERS && mtu - MSS_HEADERS < most)
		most = mtu - MSS_HEADERS;
	if (settings->mss != MSS_AUTO && settings->mss < most)
		most = settings->mss;
	return most;
}

/* Makes of a SYN the answer to it: what is promised is what the client offers within mss and promises, enum web_promise. */
__noinline bool cookie_write(ctx_t *ctx, const struct packet *packet, __u16 mss, __u8 promises)
{
	struct handshake what = {.window = HANDSHAKE_WINDOW, .flags = TCP_FLAG_SYN | TCP_FLAG_ACK, .back = true};
	struct syn_cookie_input in = {};
	struct offer offer;
	__u32 sequence;

	if (!packet || !offer_read(ctx, packet, &offer) || ctx_load(ctx, packet->l4 + 4, &sequence, sizeof(sequence)))
		return false;
	if (!(promises & WEB_PROMISES_SACK))
		offer.sack = 0;
	if (!(promises & WEB_PROMISES_TIMESTAMPS))
		offer.timestamps = 0;
	in.tuple = packet->tuple;
	in.begun = bpf_ntohl(sequence);
	in.epoch = syn_cookie_epoch();
	what.sequence = syn_cookie_make(&in, syn_cookie_data(&offer));
	what.acknowledges = in.begun + 1;
	what.partial = sum_stays(packet->sum, true);
	offer.mss = web_mss(ctx, packet, mss);
	offer.echo = offer.value;
	offer.value = handshake_clock();
	if (offer.scale != HANDSHAKE_NONE)
		offer.scale = HANDSHAKE_SCALE;
	return handshake_write(ctx, packet, &what, &offer);
}

/* The same of one to a web address: all its hosts can what it promises. */
__noinline bool web_answer_write(ctx_t *ctx, const struct packet *packet)
{
	struct address *address;

	if (!packet)
		return false;
	address = bpf_map_lookup_elem(&address_table, &packet->tuple.destination);
	return address && cookie_write(ctx, packet, address->mss, address->promises);
}
