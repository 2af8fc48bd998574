/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The end of a packet: its reason is counted, a drop is sampled for those who watch, and the XDP action chosen.
 */
#pragma once

#include "../guard/ban.h"
#include "clock.h"
#include "maps.h"
#include "../packet/packet.h"

#define DROP_SAMPLES_PER_TICK 256 /* on each CPU: about 1,000 a second */

static __always_inline struct budget *budget_get(void)
{
	__u32 zero = 0, tick = clock_tick();
	struct budget *budget = bpf_map_lookup_elem(&budgets, &zero);

	if (budget && budget->tick != tick) {
		budget->tick = tick;
		budget->drops = 0;
		budget->icmp = 0;
		budget->cookies = 0;
	}
	return budget;
}

/*
 * An event of a dropped packet with what every hook knows of it; null where there is none for now, and that is counted. Half
 * of the ring is of flows alone: while nobody reads, samples take none of the room that is kept for what may not be lost.
 */
static __always_inline struct drop_event *drop_begin(enum reason reason, enum side side)
{
	struct budget *budget = budget_get();
	struct drop_event *event = 0;

	if (!budget)
		return 0;
	if (budget->drops < DROP_SAMPLES_PER_TICK && bpf_ringbuf_query(&flow_events, BPF_RB_AVAIL_DATA) < FLOW_RING / 2)
		event = bpf_ringbuf_reserve(&flow_events, sizeof(*event), 0);
	if (!event) {
		budget->missed++;
		return 0;
	}
	budget->drops++;
	event->at = bpf_ktime_get_ns();
	event->missed = budget->missed;
	event->reason = reason;
	event->told = TOLD_DROP;
	event->side = side;
	event->cpu = bpf_get_smp_processor_id();
	event->captured = 0;
	return event;
}

/* How much of a frame an event has room for; whoever copies it has to see the bounds. */
static __always_inline __u64 drop_captures(__u64 length)
{
	if (length > DROP_FRAME)
		length = DROP_FRAME;
	barrier_var(length); /* or the compiler loses the bound that the verifier wants to see */
	return length;
}

__noinline int drop_sample(ctx_t *ctx, const struct packet *packet, enum reason reason, enum side side)
{
	struct control *control = control_get();
	struct drop_event *event;
	__u64 length = drop_captures(ctx_length(ctx));

	if (!control || !(control->watch & WATCH_DROPS) || !packet || reason == REASON_HELD_FOR_VERDICT)
		return 0;
	event = drop_begin(reason, side);
	if (!event)
		return 0;
	event->ifindex = ctx_ifindex(ctx);
	event->source = packet->tuple.source;
	event->destination = packet->tuple.destination;
	event->source_port = packet->tuple.source_port;
	event->destination_port = packet->tuple.destination_port;
	event->length = ctx_length(ctx);
	event->protocol = packet->tuple.protocol;
	if (length && length <= DROP_FRAME && !ctx_load(ctx, 0, event->frame, length))
		event->captured = length;
	bpf_ringbuf_submit(event, 0);
	return 1;
}

static __always_inline void reason_count(enum reason reason)
{
	__u32 key = reason;
	__u64 *count = bpf_map_lookup_elem(&reason_counters, &key);

	if (count)
		*count += 1;
	trace_step(TRACE_END, reason, 0, 0, 0);
}

/* A translated packet goes on as one from outside, under the generation that has judged it so far. */
static __always_inline void hairpin_enter(ctx_t *ctx, const struct packet *packet)
{
	struct nf_packet *nf = nf_packet();

	if (!nf)
		return;
	nf->generation = packet->generation;
	bpf_tail_call(ctx, &programs, PROGRAM_HAIRPIN);
}

static __always_inline __u32 hairpin_generation(void)
{
	struct nf_packet *nf = nf_packet();

	return nf ? nf->generation : 0;
}

/* What the daemon sends that belongs to a hairpin: on as it was between its two ways. */
static __always_inline int hairpin_again(ctx_t *ctx)
{
	struct control *control = control_get();
	struct packet packet = {};

	if (!control)
		return CTX_DROP;
	packet.generation = *(volatile __u32 *)&control->generation;
	hairpin_enter(ctx, &packet);
	return CTX_DROP;
}

/* For everything but a redirect: leaves the packet to the kernel or drops it. */
static __always_inline int verdict(ctx_t *ctx, const struct packet *packet, enum reason reason, enum side side)
{
	if (reason == REASON_TO_GATEWAY && side == SIDE_PUBLIC && source_is_banned(packet))
		reason = REASON_DROP_BANNED;
	reason_count(reason);
	if (reason < REASON_DROP_MALFORMED)
		return CTX_PASS;
	drop_sample(ctx, packet, reason, side);
	return CTX_DROP;
}
