/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the daemon hears of connections to web addresses. What finds no room is lost: whoever sent it sends it again.
 */
#pragma once

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

/* The frame itself. False where there is no room for it. */
__noinline bool web_report_frame(ctx_t *ctx, const struct packet *packet, __u16 kind)
{
	__u64 length = ctx_length(ctx);
	struct web_key key;
	void *record;
	long failed;

	if (!packet)
		return false;
	key = web_key_of(&packet->tuple);
	barrier_var(length);
	if (length < ETH_HLEN || length > WEB_FRAME_LONG ||
	    bpf_ringbuf_query(&web_events, BPF_RB_AVAIL_DATA) > WEB_RING - WEB_RING_TOLD - WEB_FRAME_LONG)
		return false;
	if (length <= WEB_FRAME_SHORT) {
		struct web_short_frame *frame = bpf_ringbuf_reserve(&web_events, sizeof(*frame), 0);

		if (!frame)
			return false;
		web_event_fill(&frame->event, ctx, &key, kind);
		frame->event.length = length;
		failed = ctx_load(ctx, 0, frame->octet, length);
		record = frame;
	} else {
		struct web_long_frame *frame = bpf_ringbuf_reserve(&web_events, sizeof(*frame), 0);

		if (!frame)
			return false;
		web_event_fill(&frame->event, ctx, &key, kind);
		frame->event.length = length;
		failed = ctx_load(ctx, 0, frame->octet, length);
		record = frame;
	}
	if (failed)
		bpf_ringbuf_discard(record, 0);
	else
		bpf_ringbuf_submit(record, 0);
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
