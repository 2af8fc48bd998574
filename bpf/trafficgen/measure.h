/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the sinks note of a frame: loss and duplicates by a bit for each sequence number, order, delay, and whether
 * it was translated as it should be.
 */
#pragma once

#include "frame.h"

/* The external endpoint of a flow: address, port (both in network byte order), and the epoch in which it was seen. */
static __always_inline __u64 state_of(__u32 address, __u16 port, __u16 epoch)
{
	return (__u64)address << 32 | (__u32)port << 16 | epoch;
}

static __always_inline void measure_arrival(const struct trafficgen_plan *plan, struct trafficgen_counters *counters)
{
	struct trafficgen_progress *progress;
	__u32 zero = 0;
	__u64 *arrivals;

	counters->received++;
	progress = bpf_map_lookup_elem(&trafficgen_progresses, &zero);
	if (progress && progress->ended)
		progress->arrived = bpf_ktime_get_ns();
	if (!plan->window)
		return;
	arrivals = bpf_map_lookup_elem(&trafficgen_arrivals, &zero);
	if (arrivals)
		__sync_fetch_and_add(arrivals, 1);
}

static __always_inline void measure_once(struct trafficgen_counters *counters, enum trafficgen_side side, __u32 number)
{
	__u32 word = side * SEQUENCE_WORDS + (number >> 6) % SEQUENCE_WORDS;
	__u64 bit = 1ULL << (number & 63);
	__u64 *bits = bpf_map_lookup_elem(&trafficgen_sequences, &word);

	if (bits && __sync_fetch_and_or(bits, bit) & bit)
		counters->duplicate++;
}

static __always_inline void measure_sequence(struct trafficgen_counters *counters, enum trafficgen_side side,
					     __u32 sequence)
{
	measure_once(counters, side, sequence);
	if (sequence < counters->highest)
		counters->reordered++;
	else
		counters->highest = sequence;
}

static __always_inline __u32 latency_bucket(__u64 delay)
{
	__u32 power = 0;
	__u64 rest = delay >> 5;

	if (rest >> 16)
		power += 16, rest >>= 16;
	if (rest >> 8)
		power += 8, rest >>= 8;
	if (rest >> 4)
		power += 4, rest >>= 4;
	if (rest >> 2)
		power += 2, rest >>= 2;
	if (rest >> 1)
		power += 1, rest >>= 1;
	power += rest; /* 1 unless delay is below 32 */
	if (power == 0)
		return delay;
	return power * 32 + (delay >> (power - 1) & 31);
}

static __always_inline void measure_latency(const struct payload *payload)
{
	__u64 sent = (__u64)payload->time_high << 32 | payload->time_low;
	__u64 *count;
	__u32 bucket;

	if (!sent)
		return;
	bucket = latency_bucket(bpf_ktime_get_ns() - sent);
	if (bucket >= LATENCY_BUCKETS)
		bucket = LATENCY_BUCKETS - 1;
	count = bpf_map_lookup_elem(&trafficgen_latencies, &bucket);
	if (count)
		*count += 1;
}

/*
 * At the responder: the source must be the device's, and the same as before. ports are source and destination. A frame
 * at the wrong endpoint is not one that came: false is returned.
 */
static __always_inline bool measure_forward(const struct trafficgen_plan *plan, struct trafficgen_counters *counters,
					    const struct iphdr *ip, const __u16 *ports, __u32 flow,
					    const struct trafficgen_tuple *tuple)
{
	__u64 seen = state_of(ip->saddr, ports[0], plan->epoch);
	__u32 source = bpf_ntohl(ip->saddr);
	__u64 *state;

	if (plan->pool_last ? source < plan->pool_first || source > plan->pool_last
			    : source != tuple->source || bpf_ntohs(ports[0]) != tuple->source_port)
		counters->untranslated++;
	if (bpf_ntohl(ip->daddr) != tuple->destination + plan->dnat || bpf_ntohs(ports[1]) != tuple->destination_port) {
		counters->misdirected++;
		return false;
	}
	state = bpf_map_lookup_elem(&trafficgen_states, &flow);
	if (!state)
		return true;
	if (*state != seen && (__u16)*state == plan->epoch)
		counters->moved++;
	*state = seen;
	return true;
}

/* At the initiator: it must be the answer to what was sent, from whom it was sent to. */
static __always_inline bool measure_reverse(struct trafficgen_counters *counters, const struct iphdr *ip,
					    const __u16 *ports, const struct trafficgen_tuple *tuple)
{
	if (bpf_ntohl(ip->daddr) != tuple->source || bpf_ntohs(ports[1]) != tuple->source_port ||
	    bpf_ntohl(ip->saddr) != tuple->destination || bpf_ntohs(ports[0]) != tuple->destination_port) {
		counters->misdirected++;
		return false;
	}
	return true;
}
