/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How much comes, of each flow, source, host or service: buckets of four meters, two cache lines. A meter that says
 * nothing more gives way to a new one; where all four of a bucket do, the new one has no place and the function cannot
 * say. Meters are found by a 64-bit hash alone: of a million, two are taken for one with a chance of 1 in 37 million.
 */
#pragma once

#include <linux/in.h>
#include <bpf/bpf_endian.h>

#include "nf.h"

enum meter_limit { METER_WAYS = 4 };

enum meter_per { METER_FLOW, METER_SOURCE, METER_HOST, METER_SERVICE };

/* What is counted. */
enum meter_unit { METER_PACKETS, METER_BYTES, METER_SYNS, METER_SESSIONS };

struct meter_settings {
	__u64 seed;    /* random */
	__u64 window;  /* ns; 0: a token bucket */
	__u64 most;    /* units that may come in a window */
	__u64 price;   /* ns in 2^-16 that a unit takes of the bucket */
	__u64 burst;   /* ns that the bucket holds */
	__u32 buckets; /* a power of two */
	__u8 per;      /* enum meter_per */
	__u8 unit;     /* enum meter_unit */
	__u8 pad[2];
};

struct meter {
	__u64 who; /* 0: free */
	/*
	 * Window: when it began; token bucket: when it will be full again. CLOCK_MONOTONIC, ns, compared signed: a
	 * window may have begun before the machine was started.
	 */
	__u64 at;
	__u64 count;
	__u32 verdict;
	__u32 next; /* verdict of the next window */
};

struct meter_bucket {
	struct meter way[METER_WAYS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct meter_settings);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_RDONLY_PROG);
} metering SEC(".maps");

/* Mappable, so that a bucket begins at a cache line. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct meter_bucket);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
} meters SEC(".maps");

/* What a dry run would have taken of one. */
struct meter_taken {
	__u64 who;
	__u64 full; /* when it would be full again */
	__u32 run;  /* which that was */
	__u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct meter_taken);
	__uint(max_entries, 1);
} taken_dry SEC(".maps");

static __always_inline __u64 meter_mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9fb21c651e98df25ULL;
	hash ^= hash >> 29;
	hash *= 0xd6e8feb86659fd93ULL;
	return hash ^ hash >> 32;
}

static __always_inline __u64 meter_who(const struct meter_settings *settings, const struct nf_packet *packet)
{
	bool in = packet->direction == NF_IN;
	__u64 source = (__u64)packet->source << 16 | packet->source_port;
	__u64 destination = (__u64)packet->destination << 16 | packet->destination_port;
	__u64 hash = settings->seed;
	bool icmp = packet->protocol == IPPROTO_ICMP; /* whose identifier is no port of a service */

	switch (settings->per) {
	case METER_FLOW:
		hash = meter_mix(meter_mix(hash, source), destination << 8 | packet->protocol);
		break;
	case METER_SOURCE:
		hash = meter_mix(hash, packet->source);
		break;
	case METER_HOST:
		hash = meter_mix(hash, in ? packet->destination : packet->source);
		break;
	default:
		hash = meter_mix(hash, (icmp ? (__u64)packet->destination << 16 : destination) << 8 | packet->protocol);
	}
	return hash | 1;
}

/* Whether a meter is as good as none: its window is long over, or its bucket is full. */
static __always_inline bool meter_is_idle(const struct meter_settings *settings, const struct meter *meter, __u64 now)
{
	return (__s64)(now - *(volatile __u64 *)&meter->at) >= (__s64)(2 * settings->window);
}

/* The meter of the packet's flow, source, host or service; 0 when there is no place for it. */
static __always_inline struct meter *meter_find(const struct meter_settings *settings, const struct nf_packet *packet,
						__u64 now)
{
	__u64 who = meter_who(settings, packet);
	__u32 number = who >> 32 & (settings->buckets - 1);
	struct meter_bucket *bucket = bpf_map_lookup_elem(&meters, &number);
	int i;

	if (!bucket)
		return 0;
#pragma unroll
	for (i = 0; i < METER_WAYS; i++)
		if (*(volatile __u64 *)&bucket->way[i].who == who)
			return &bucket->way[i];
#pragma unroll
	for (i = 0; i < METER_WAYS; i++) {
		struct meter *meter = &bucket->way[i];
		__u64 old = *(volatile __u64 *)&meter->who, taken;

		if (old && !meter_is_idle(settings, meter, now))
			continue;
		if (packet->dry)
			return meter; /* idle: it will do */
		taken = __sync_val_compare_and_swap(&meter->who, old, who);
		if (taken == who)
			return meter; /* another packet of the same was faster */
		if (taken != old)
			continue;
		*(volatile __u64 *)&meter->at = now - settings->window;
		meter->count = 0;
		meter->verdict = NF_CONTINUE;
		meter->next = NF_CONTINUE;
		return meter;
	}
	return 0;
}

/* The units that the packet counts for, 0 for none. */
static __always_inline __u64 meter_units(const struct meter_settings *settings, const struct nf_packet *packet)
{
	const __u8 syn = 0x02, ack = 0x10;

	switch (settings->unit) {
	case METER_BYTES:
		return packet->length;
	case METER_SYNS:
		return packet->protocol == IPPROTO_TCP && (packet->tcp_flags & (syn | ack)) == syn;
	case METER_SESSIONS:
		return packet->opens;
	}
	return packet->segments;
}

static __always_inline __u64 meter_later(__u64 a, __u64 b)
{
	return (__s64)(a - b) > 0 ? a : b;
}

/*
 * What meter_bucket would say. A flow that comes in again, by a hairpin to its own host, may ask the same meter once more in
 * the same run: that would then have been paid for the first time.
 */
static __always_inline enum nf_verdict meter_would(const struct meter_settings *settings, const struct meter *meter,
						   const struct nf_packet *packet, __u64 price, __u64 most, __u64 now)
{
	__u64 who = meter_who(settings, packet), full = meter_later(meter->at, now);
	__u32 zero = 0;
	struct meter_taken *taken = bpf_map_lookup_elem(&taken_dry, &zero);

	if (taken && packet->run && taken->run == packet->run && taken->who == who)
		full = meter_later(taken->full, full);
	full += price;
	if (full - now > most)
		return NF_DROP;
	if (taken)
		*taken = (struct meter_taken){.who = who, .full = full, .run = packet->run};
	return NF_CONTINUE;
}

/*
 * A token bucket, as the time at which it will be full again (the generic cell rate algorithm of ITU-T I.371): one
 * word, compared and swapped. An aggregate passes where its first packet would, and is paid for whole: the bucket may owe.
 */
static __always_inline enum nf_verdict meter_bucket(const struct meter_settings *settings, struct meter *meter,
						    struct nf_packet *packet, __u64 units, __u64 now)
{
	__u64 price = units * settings->price >> 16;
	__u64 most = settings->burst + (packet->segments > 1 ? price - price / packet->segments : 0);
	int i;

	if (packet->dry)
		return meter_would(settings, meter, packet, price, most, now);
	for (i = 0; i < 8; i++) {
		__u64 old = *(volatile __u64 *)&meter->at;
		__u64 full = meter_later(old, now) + price;

		if (full - now > most)
			return NF_DROP;
		if (__sync_val_compare_and_swap(&meter->at, old, full) == old)
			return NF_CONTINUE;
	}
	return NF_DROP; /* so many others came at once */
}
