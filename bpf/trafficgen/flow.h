/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From a sequence number to a flow, and from a flow to its four-tuple. Both are computed, so that 40 million flows
 * need no table. Flows whose states share a cache line follow each other while they are drawn at random, as flows of
 * neighbouring lines do in the first pass, so that the tester waits little for memory and the time is the device's.
 * The device sees nothing of it: flows of one line were opened long after each other, and their tuples are anywhere.
 */
#pragma once

#include "plan.h"

struct trafficgen_tuple {
	__u32 source; /* all in host byte order */
	__u32 destination;
	__u16 source_port;
	__u16 destination_port;
};

#define PERMUTE_ROUNDS 64 /* each ends with probability over 1/2 */

/* A permutation of the numbers below flows: odd factors and shifts of the high half permute 0 to mask; walk until below. */
static __always_inline __u32 flow_permute(const struct trafficgen_plan *plan, __u32 number)
{
	for (int round = 0; round < PERMUTE_ROUNDS; round++) {
		number = number * 0x9e3779b1 & plan->mask;
		number ^= number >> (plan->shift & 31);
		number = number * 0x85ebca6b & plan->mask;
		number ^= number >> (plan->shift & 31);
		if (number < plan->flows)
			break;
	}
	return number;
}

#define LINE_FLOWS 8 /* whose states fill a cache line */

/* One line after the other, and of each the first flow, then of each the second. */
static __always_inline __u32 flow_once(const struct trafficgen_plan *plan, __u32 number)
{
	__u32 lines = plan->flows / LINE_FLOWS;

	if (number >= lines * LINE_FLOWS)
		return number;
	return number % lines * LINE_FLOWS + number / lines;
}

/* All flows of a line at random. The two directions draw independently: no frame follows another of its flow. */
static __always_inline __u32 flow_random(const struct trafficgen_plan *plan, __u32 number, __u32 side)
{
	__u64 lines = (plan->flows + LINE_FLOWS - 1) / LINE_FLOWS;
	__u64 mixed = ((__u64)plan->trial << 33 | (__u64)side << 32 | number / LINE_FLOWS) * 0x9fb21c651e98df25ULL;
	__u32 flow;

	mixed ^= mixed >> 32;
	mixed *= 0xd6e8feb86659fd93ULL;
	flow = ((mixed >> 32) * lines >> 32) * LINE_FLOWS + number % LINE_FLOWS;
	return flow < plan->flows ? flow : flow % plan->flows;
}

static __always_inline __u32 flow_of(const struct trafficgen_plan *plan, __u32 sequence, __u32 side)
{
	return plan->order == ORDER_ONCE ? flow_once(plan, sequence) : flow_random(plan, sequence, side);
}

static __always_inline __u32 flow_pick(const struct trafficgen_range *range, __u32 *number)
{
	__u32 count = range->count ?: 1;
	__u32 place = *number % count;

	*number /= count;
	return range->first + place * range->step;
}

static __always_inline void flow_tuple(const struct trafficgen_plan *plan, __u32 flow, struct trafficgen_tuple *tuple)
{
	flow = flow_permute(plan, flow);
	tuple->source_port = flow_pick(&plan->source_port, &flow);
	tuple->source = flow_pick(&plan->source, &flow);
	tuple->destination_port = flow_pick(&plan->destination_port, &flow);
	tuple->destination = flow_pick(&plan->destination, &flow);
}
