// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The measuring lab's generator and sinks (RFC 9693). BPF_PROG_TEST_RUN runs trafficgen_send over live frames,
 * which leave by one of the tester's two interfaces, pass the device under test, and end in the sink at the other.
 * null_out and null_in are the null device: they forward and do nothing else.
 */
#include <stdbool.h>

#include "trafficgen/tcp.h"

/* The other end of the tester's links: how the null device sends. */
struct null_port {
	__u32 mac[3];
};
TRAFFICGEN_MAP(null_macs, BPF_MAP_TYPE_ARRAY, struct null_port, SIDE_MAX, 0);
TRAFFICGEN_MAP(null_ports, BPF_MAP_TYPE_DEVMAP, __u32, SIDE_MAX, 0);

/*
 * False while the frame's time has not come. After a stall of the generator's CPU the schedule goes on from now:
 * the frames that are late, sent in one burst, would measure the length of the device's queue and not its speed.
 */
static __always_inline bool is_due(const struct trafficgen_plan *plan, struct trafficgen_progress *progress)
{
	__u64 elapsed, late;

	if (!plan->interval)
		return true;
	elapsed = (bpf_ktime_get_ns() - progress->started) << 10;
	if (elapsed < progress->due)
		return false;
	late = elapsed - progress->due;
	if (late > plan->interval * BURST_FRAMES) {
		progress->stalled += late >> 10;
		progress->due = elapsed;
	}
	progress->due += plan->interval;
	return true;
}

/*
 * False while as many frames are under way as may be. TCP sessions take their next step when every packet of the last
 * one has arrived: some may overtake others.
 */
static __always_inline bool has_room(const struct trafficgen_plan *plan, struct trafficgen_progress *progress)
{
	__u32 zero = 0;
	const volatile __u64 *arrivals;
	__u64 arrived;

	if (!plan->window || progress->sent < progress->credit)
		return true;
	arrivals = bpf_map_lookup_elem(&trafficgen_arrivals, &zero);
	arrived = arrivals ? *arrivals : 0;
	if (!plan->tcp_block)
		progress->credit = arrived + progress->missing + plan->window;
	else if (arrived >= progress->sent - progress->missing)
		progress->credit = progress->sent + tcp_width(plan, progress->sent);
	return progress->sent < progress->credit;
}

/* Counts the next frame. False when it may not be sent now. */
static __always_inline bool take_turn(const struct trafficgen_plan *plan, struct trafficgen_progress *progress,
				      __u32 *number)
{
	if (!progress->started)
		progress->started = bpf_ktime_get_ns();
	if (progress->sent >= progress->goal || !has_room(plan, progress) || !is_due(plan, progress))
		return false;
	*number = progress->sent++;
	if (progress->sent == progress->goal)
		progress->ended = bpf_ktime_get_ns();
	return true;
}

/* The responder's view of a flow, or nothing where it saw none in this epoch. */
static __always_inline const __u64 *seen(const struct trafficgen_plan *plan, struct trafficgen_progress *progress,
					 __u32 flow)
{
	const __u64 *state = bpf_map_lookup_elem(&trafficgen_states, &flow);

	if (state && (__u16)*state == plan->epoch)
		return state;
	progress->missing++;
	return NULL;
}

SEC("xdp")
int trafficgen_send(struct xdp_md *ctx)
{
	struct trafficgen_plan *plan = plan_get();
	struct trafficgen_progress *progress;
	struct trafficgen_tuple tuple;
	struct frame frame;
	__u32 zero = 0, side = SIDE_INITIATOR, sequence, flow;
	__u64 now = 0;

	progress = bpf_map_lookup_elem(&trafficgen_progresses, &zero);
	if (!plan || !progress || !frame_at(ctx, &frame))
		return XDP_ABORTED;
	if (!take_turn(plan, progress, &sequence))
		return XDP_DROP;
	if (plan->direction == DIRECTION_BOTH) {
		side = sequence & 1;
		sequence >>= 1;
	} else if (plan->direction == DIRECTION_REVERSE) {
		side = SIDE_RESPONDER;
	}
	flow = flow_of(plan, sequence, side);
	flow_tuple(plan, flow, &tuple);
	if ((sequence & ((1ULL << plan->stamp) - 1)) == 0)
		now = bpf_ktime_get_ns();
	*frame.trial = plan->trial << 1 | side;
	frame.payload->flow = flow;
	frame.payload->sequence = sequence;
	frame.payload->time_low = now;
	frame.payload->time_high = now >> 32;
	if (side == SIDE_INITIATOR) {
		frame_write(plan, &frame, SIDE_INITIATOR, bpf_htonl(tuple.source), bpf_htonl(tuple.destination),
			    bpf_htonl((__u32)tuple.source_port << 16 | tuple.destination_port));
	} else {
		const __u64 *state = seen(plan, progress, flow);

		if (!state)
			return XDP_DROP;
		frame_write(plan, &frame, SIDE_RESPONDER, bpf_htonl(tuple.destination + plan->dnat), *state >> 32,
			    ((__u32)*state & 0xffff0000) | bpf_htons(tuple.destination_port));
	}
	return bpf_redirect_map(&trafficgen_ports, side, XDP_ABORTED);
}

SEC("xdp")
int trafficgen_send_tcp(struct xdp_md *ctx)
{
	struct trafficgen_plan *plan = plan_get();
	struct trafficgen_progress *progress;
	struct trafficgen_tuple tuple;
	const struct tcp_step *step;
	struct tcp_turn turn;
	struct frame frame;
	__u32 zero = 0, number;

	progress = bpf_map_lookup_elem(&trafficgen_progresses, &zero);
	if (!plan || !progress)
		return XDP_ABORTED;
	if (!take_turn(plan, progress, &number))
		return XDP_DROP;
	turn = tcp_turn(plan, number);
	step = tcp_step_at(turn.step);
	if (!step || !tcp_resize(plan, ctx, step) || !tcp_frame_at(ctx, &frame))
		return XDP_ABORTED;
	flow_tuple(plan, turn.flow, &tuple);
	if (step->side == SIDE_INITIATOR) {
		tcp_write(plan, &frame, step, &turn, bpf_htonl(tuple.source), bpf_htonl(tuple.destination),
			  bpf_htonl((__u32)tuple.source_port << 16 | tuple.destination_port));
	} else {
		const __u64 *state = seen(plan, progress, turn.flow);

		if (!state)
			return XDP_DROP;
		tcp_write(plan, &frame, step, &turn, bpf_htonl(tuple.destination + plan->dnat), *state >> 32,
			  ((__u32)*state & 0xffff0000) | bpf_htons(tuple.destination_port));
	}
	return bpf_redirect_map(&trafficgen_ports, step->side, XDP_ABORTED);
}

static __always_inline int sink_tcp(struct xdp_md *ctx, const struct trafficgen_plan *plan,
				    struct trafficgen_counters *counters, __u32 side)
{
	struct trafficgen_tuple tuple;
	const struct tcp_step *step;
	struct frame frame;
	struct tcp_turn turn;

	if (!tcp_frame_at(ctx, &frame))
		return XDP_PASS;
	step = tcp_step_of(plan, &frame, &turn);
	if (!step || step->side == side || turn.flow >= plan->flows) {
		counters->other++;
		return XDP_PASS;
	}
	measure_arrival(plan, counters);
	if (!tcp_intact(plan, &frame, step, &turn))
		counters->corrupt++;
	flow_tuple(plan, turn.flow, &tuple);
	if (side == SIDE_RESPONDER
		    ? measure_forward(plan, counters, frame.ip, (const __u16 *)frame.udp, turn.flow, &tuple)
		    : measure_reverse(counters, frame.ip, (const __u16 *)frame.udp, &tuple))
		measure_once(counters, side, turn.flow * TCP_STEPS + turn.step);
	return XDP_DROP;
}

static __always_inline int sink(struct xdp_md *ctx, __u32 side)
{
	struct trafficgen_plan *plan = plan_get();
	struct trafficgen_counters *counters;
	struct trafficgen_tuple tuple;
	struct frame frame;

	counters = bpf_map_lookup_elem(&trafficgen_counts, &side);
	if (!plan || !counters)
		return XDP_PASS;
	if (plan->tcp_block)
		return sink_tcp(ctx, plan, counters, side);
	if (!frame_at(ctx, &frame))
		return XDP_PASS;
	if (*frame.type != bpf_htons(ETH_P_IP) || *(__u8 *)frame.ip != 0x45 || frame.ip->protocol != IPPROTO_UDP ||
	    *frame.trial != (plan->trial << 1 | (side == SIDE_INITIATOR)) || frame.payload->flow >= plan->flows) {
		counters->other++;
		return XDP_PASS;
	}
	measure_arrival(plan, counters);
	if ((frame.payload->sequence & ((1ULL << plan->verify) - 1)) == 0 && !frame_intact(&frame))
		counters->corrupt++;
	flow_tuple(plan, frame.payload->flow, &tuple);
	if (side == SIDE_RESPONDER
		    ? measure_forward(plan, counters, frame.ip, (const __u16 *)frame.udp, frame.payload->flow, &tuple)
		    : measure_reverse(counters, frame.ip, (const __u16 *)frame.udp, &tuple)) {
		measure_sequence(counters, side, frame.payload->sequence);
		measure_latency(frame.payload);
	}
	return XDP_DROP;
}

SEC("xdp")
int trafficgen_initiator(struct xdp_md *ctx)
{
	return sink(ctx, SIDE_INITIATOR);
}

SEC("xdp")
int trafficgen_responder(struct xdp_md *ctx)
{
	return sink(ctx, SIDE_RESPONDER);
}

static __always_inline int forward(struct xdp_md *ctx, __u32 side)
{
	struct null_port *port = bpf_map_lookup_elem(&null_macs, &side);
	__u32 *mac = (void *)(long)ctx->data;

	if (!port || (void *)(mac + 3) > (void *)(long)ctx->data_end)
		return XDP_ABORTED;
	mac[0] = port->mac[0];
	mac[1] = port->mac[1];
	mac[2] = port->mac[2];
	return bpf_redirect_map(&null_ports, side, XDP_ABORTED);
}

SEC("xdp")
int null_out(struct xdp_md *ctx)
{
	return forward(ctx, SIDE_RESPONDER);
}

SEC("xdp")
int null_in(struct xdp_md *ctx)
{
	return forward(ctx, SIDE_INITIATOR);
}

/* Types that Go needs and no map names: a mention keeps them in the object's type information. */
struct exported {
	enum trafficgen_side side;
	enum trafficgen_direction direction;
	enum trafficgen_order order;
	enum trafficgen_limit limit;
	enum tcp_limit tcp;
};
const struct exported *exported __attribute__((unused));

char _license[] SEC("license") = "Dual BSD/GPL";
