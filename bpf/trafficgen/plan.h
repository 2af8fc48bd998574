/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the generator is asked to do and what it and the sinks have seen. User space writes the plan while nothing
 * is being sent. Addresses are in host byte order unless their field says otherwise.
 */
#pragma once

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

/* The tester's two interfaces (RFC 9693 section 4): the initiator is in the private realm. */
enum trafficgen_side { SIDE_INITIATOR, SIDE_RESPONDER, SIDE_MAX };

/* Which way frames go. With both, they take turns. */
enum trafficgen_direction { DIRECTION_FORWARD, DIRECTION_REVERSE, DIRECTION_BOTH };

/* Every flow once in pseudorandom order, or flows drawn at random. */
enum trafficgen_order { ORDER_ONCE, ORDER_RANDOM };

struct trafficgen_range {
	__u32 first;
	__u32 count;
	__u32 step;
};

struct trafficgen_plan {
	__u64 interval; /* between two of them, in 1/1024 ns; 0 is as fast as can be */
	__u32 flows;
	__u32 mask;  /* the least 2^n - 1 that is not below flows - 1 */
	__u32 shift; /* about half the bits of mask */
	struct trafficgen_range source;
	struct trafficgen_range source_port;
	struct trafficgen_range destination;
	struct trafficgen_range destination_port;
	__u32 pool_first; /* translated sources lie here; 0 to 0 where nothing is translated */
	__u32 pool_last;
	__u32 dnat;   /* what the device adds to destinations, modulo 2^32 */
	__u32 length; /* of a frame, without its check sequence */
	__u16 trial;  /* below 2^15; frames of others do not count */
	__u16 epoch;  /* not 0; states of others do not count */
	__u8 direction;
	__u8 order;
	__u8 stamp;		/* every 2^stamp-th frame carries the time; none above 31 */
	__u8 verify;		/* every 2^verify-th frame has its checksums verified */
	__u32 mac[SIDE_MAX][3]; /* destination and source of the frames that a side sends */
	__u32 window;		/* frames in flight at most; 0 is any number */
	__u32 tcp_block;	/* TCP sessions that go in step; 0 is UDP */
	__u32 tcp_shift;	/* see tcp.h */
};

/* User space sends the frames of a plan in one part or in several: goal, started and ended are of the part. */
struct trafficgen_progress {
	__u64 sent;
	__u64 goal;    /* what sent is when the part is over, of both directions together */
	__u64 missing; /* not sent back: the responder never saw their flow */
	__u64 started; /* CLOCK_MONOTONIC, ns */
	__u64 ended;
	__u64 credit;  /* frames that may have been sent before arrivals are counted again */
	__u64 due;     /* when the next frame is, after started, in 1/1024 ns */
	__u64 stalled; /* ns by which the schedule was put off, all in all */
	__u64 arrived; /* the last frame that came after the last was sent, CLOCK_MONOTONIC, ns */
};

struct trafficgen_counters {
	__u64 received;
	__u64 duplicate;
	__u64 reordered;
	__u64 untranslated; /* came with a source that is not the device's */
	__u64 misdirected;  /* came to the wrong endpoint */
	__u64 moved;	    /* came from another external endpoint than before */
	__u64 corrupt;	    /* a checksum is wrong */
	__u64 other;	    /* not of this trial */
	__u64 highest;	    /* sequence number */
};

/*
 * Delays in ns, 32 buckets for each power of two, so that none is off by more than 1/32: bucket 32 * p + m counts
 * from (32 + m) << (p - 1) on for p > 0, and bucket m counts m ns.
 */
enum trafficgen_limit {
	LATENCY_BUCKETS = 36 * 32,
	SEQUENCE_WORDS = 1 << 20, /* 64 M frames a direction and trial */
	BURST_FRAMES = 64,	  /* that may be late and catch up, a quarter of a veth's queue */
};

#define TRAFFICGEN_MAP(name, map_type, value_type, entries, flags) \
	struct {                                                   \
		__uint(type, map_type);                            \
		__type(key, __u32);                                \
		__type(value, value_type);                         \
		__uint(max_entries, entries);                      \
		__uint(map_flags, flags);                          \
	} name SEC(".maps")

TRAFFICGEN_MAP(trafficgen_plans, BPF_MAP_TYPE_ARRAY, struct trafficgen_plan, 1, 0);
TRAFFICGEN_MAP(trafficgen_progresses, BPF_MAP_TYPE_ARRAY, struct trafficgen_progress, 1, BPF_F_MMAPABLE);
TRAFFICGEN_MAP(trafficgen_counts, BPF_MAP_TYPE_PERCPU_ARRAY, struct trafficgen_counters, SIDE_MAX, 0);
/* Frames that came, of both directions and on all CPUs, where the plan has a window. */
TRAFFICGEN_MAP(trafficgen_arrivals, BPF_MAP_TYPE_ARRAY, __u64, 1, 0);
TRAFFICGEN_MAP(trafficgen_latencies, BPF_MAP_TYPE_PERCPU_ARRAY, __u64, LATENCY_BUCKETS, 0);
/* A bit for each sequence number, first those of the forward frames. */
TRAFFICGEN_MAP(trafficgen_sequences, BPF_MAP_TYPE_ARRAY, __u64, SIDE_MAX *SEQUENCE_WORDS, BPF_F_MMAPABLE);
/* The responder's state table: the external endpoint of each flow. User space sets its size. */
TRAFFICGEN_MAP(trafficgen_states, BPF_MAP_TYPE_ARRAY, __u64, 1, BPF_F_MMAPABLE);
TRAFFICGEN_MAP(trafficgen_ports, BPF_MAP_TYPE_DEVMAP, __u32, SIDE_MAX, 0);

static __always_inline struct trafficgen_plan *plan_get(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&trafficgen_plans, &zero);
}
