/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the daemon hears of connections to web addresses. What finds no room is lost: whoever sent it sends it again.
 */
#pragma once

#include "../include/budget.h"
#include "../include/maps.h"
#include "../packet/packet.h"

static __always_inline struct web_key web_key_of(const struct tuple *tuple)
{
	return (struct web_key){tuple->source, tuple->destination, tuple->source_port, tuple->destination_port,
				tuple->protocol};
}

static __always_inline void web_event_fill(struct web_event *event, ctx_t *ctx, const struct web_key *key, __u16 kind)
{
	__builtin_memset(event, 0, sizeof(*event));
	event->at = bpf_ktime_get_ns();
	event->key = *key;
	event->ifindex = ctx_ifindex(ctx);
	event->kind = kind;
	event->each = ctx_segment_size(ctx);
}

/* As how many frames one counts, by the room that it takes in the ring. */
static __always_inline __u32 web_frame_shares(ctx_t *ctx)
{
	__u64 length = ctx_length(ctx);

	if (length <= WEB_FRAME_SHORT)
		return 1;
	return (length <= WEB_FRAME_MIDDLE ? WEB_FRAME_MIDDLE : WEB_FRAME_LONG) / WEB_FRAME_SHORT;
}

/*
 * In a tick: about 1,900 and 3,800 a second, or four times the sessions that a source may open, as hellos come in two frames. Those
 * of one hash share. The ring has as much room as the default lets a network take.
 */
#define WEB_FRAMES_OF_A_SOURCE	512
#define WEB_FRAMES_MOST		4000
#define WEB_FRAMES_OF_A_NETWORK 2 /* times as many, of a /24 */

/* Whether the daemon is to hear of one more frame of a source: who has proved its address could else fill its ears. */
__noinline bool web_is_paid(ctx_t *ctx, const struct packet *packet)
{
	struct settings *settings = packet ? settings_get(packet->generation) : 0;
	__u32 most = WEB_FRAMES_OF_A_SOURCE, place, frames = web_frame_shares(ctx);

	if (!settings)
		return false;
	if (settings->limits.remote_rate > most)
		most = settings->limits.remote_rate;
	if (most > WEB_FRAMES_MOST)
		most = WEB_FRAMES_MOST;
	place = hash_words(packet->tuple.source, 0) & (WEB_SOURCES - 1);
	if (!budget_spend_some(bpf_map_lookup_elem(&web_budgets, &place), most, frames))
		return false;
	place = WEB_SOURCES + (hash_words(packet->tuple.source & bpf_htonl(0xffffff00), 1) & (WEB_SOURCES - 1));
	return budget_spend_some(bpf_map_lookup_elem(&web_budgets, &place), most * WEB_FRAMES_OF_A_NETWORK, frames);
}

/* The verifier wants to know each record's size. */
#define WEB_RECORD(room) bpf_ringbuf_reserve(&web_events, sizeof(struct web_event) + (room), 0)

/* The frame itself. False where there is no room for it. */
__noinline bool web_report_frame(ctx_t *ctx, const struct packet *packet, __u16 kind)
{
	__u64 length = ctx_length(ctx);
	struct web_event *event;
	struct web_key key;
	long failed;

	if (!packet)
		return false;
	key = web_key_of(&packet->tuple);
	barrier_var(length);
	if (length < ETH_HLEN || length > WEB_FRAME_LONG ||
	    bpf_ringbuf_query(&web_events, BPF_RB_AVAIL_DATA) > WEB_RING - WEB_RING_TOLD - WEB_FRAME_LONG)
		return false;
	if (length <= WEB_FRAME_SHORT) {
		event = WEB_RECORD(WEB_FRAME_SHORT);
		if (!event)
			return false;
		failed = ctx_load(ctx, 0, event + 1, length);
	} else if (length <= WEB_FRAME_MIDDLE) {
		event = WEB_RECORD(WEB_FRAME_MIDDLE);
		if (!event)
			return false;
		failed = ctx_load(ctx, 0, event + 1, length);
	} else {
		event = WEB_RECORD(WEB_FRAME_LONG);
		if (!event)
			return false;
		failed = ctx_load(ctx, 0, event + 1, length);
	}
	web_event_fill(event, ctx, &key, kind);
	event->length = length;
	if (failed)
		bpf_ringbuf_discard(event, 0);
	else
		bpf_ringbuf_submit(event, 0);
	return !failed;
}

/* What became of a connection: all but when and where are filled in. */
__noinline int web_report(ctx_t *ctx, const struct web_event *told)
{
	struct web_event *event = told ? bpf_ringbuf_reserve(&web_events, sizeof(*event), 0) : 0;

	if (!event) {
		count_statistic(STATISTIC_EVENTS_LOST);
		return 0;
	}
	*event = *told;
	event->at = bpf_ktime_get_ns();
	event->ifindex = ctx_ifindex(ctx);
	bpf_ringbuf_submit(event, 0);
	return 1;
}
