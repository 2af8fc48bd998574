/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The first of many rules that a packet matches, in a time that does not grow with their number. Each dimension
 * (source, destination, service) is cut into ranges at the bounds of the rules' conditions; the range that a packet
 * lies in knows the conditions that hold there. Conditions that hold at once are in different layers. Rules of one shape
 * ask for conditions of the same layers, and are found by one look into a hash table; a range knows the shapes of the
 * rules that it can meet, so that nearly all looks find one. Each program has tables of its own, made by internal/chain.
 */
#pragma once

#include <linux/in.h>
#include <bpf/bpf_endian.h>

#include "nf.h"

enum rules_limit {
	RULES_LAYERS = 13, /* conditions of one dimension that may hold at once, beside the one that always does */
	RULES_SHAPES = 64, /* bits of a word */
	RULES_STEPS = 22,  /* halvings: 4 M ranges */
};

/* From first up to the next range: a cache line. */
struct rules_range {
	__u64 shapes; /* of rules that this range can meet */
	__u32 first;
	__u32 condition[RULES_LAYERS]; /* 0: none in this layer */
};

/* The layer of the condition in each dimension, from 1; 0 is the condition that always holds. */
struct rules_shape {
	__u8 source;
	__u8 destination;
	__u8 service;
	__u8 pad;
	__u32 first; /* the first rule of this shape */
};

struct rules_key {
	__u32 source;
	__u32 destination;
	__u32 service;
};

struct rules_found {
	__u32 rule; /* its place, from 0 */
	__u32 value;
};

/* How many ranges each dimension has; the shapes are in the order of their first rules. */
struct rules_size {
	__u32 sources;
	__u32 destinations;
	__u32 services;
	__u32 shapes;
};

#define RULES_TABLE(name, map_type, key_type, value_type, flags) \
	struct {                                                 \
		__uint(type, map_type);                          \
		__type(key, key_type);                           \
		__type(value, value_type);                       \
		__uint(max_entries, 1);                          \
		__uint(map_flags, flags);                        \
	} name SEC(".maps")

RULES_TABLE(rules_sizes, BPF_MAP_TYPE_ARRAY, __u32, struct rules_size, BPF_F_RDONLY_PROG);
RULES_TABLE(rules_shapes, BPF_MAP_TYPE_ARRAY, __u32, struct rules_shape, BPF_F_RDONLY_PROG);
RULES_TABLE(rules_sources, BPF_MAP_TYPE_ARRAY, __u32, struct rules_range, BPF_F_RDONLY_PROG);
RULES_TABLE(rules_destinations, BPF_MAP_TYPE_ARRAY, __u32, struct rules_range, BPF_F_RDONLY_PROG);
RULES_TABLE(rules_services, BPF_MAP_TYPE_ARRAY, __u32, struct rules_range, BPF_F_RDONLY_PROG);
RULES_TABLE(rules_table, BPF_MAP_TYPE_HASH, struct rules_key, struct rules_found, BPF_F_RDONLY_PROG);

/* The range of a value; the first begins at 0. */
static __always_inline const struct rules_range *rules_range(void *ranges, __u32 count, __u32 value)
{
	__u32 low = 0, high = count; /* it is at or after low, and before high */
	int i;

	for (i = 0; i < RULES_STEPS && high - low > 1; i++) {
		__u32 middle = low + (high - low) / 2;
		const struct rules_range *range = bpf_map_lookup_elem(ranges, &middle);

		if (!range)
			return 0;
		if (range->first <= value)
			low = middle;
		else
			high = middle;
	}
	return bpf_map_lookup_elem(ranges, &low);
}

static __always_inline __u32 rules_condition(const struct rules_range *range, __u8 layer)
{
	__u64 place = layer - 1ULL;

	asm volatile("" : "+r"(place)); /* what is checked is what is used */
	return place < RULES_LAYERS ? range->condition[place] : 0;
}

/* Direction, protocol and port as one number. The port of what has none is 0. */
static __always_inline __u32 rules_service(const struct nf_packet *packet)
{
	__u32 service = (__u32)packet->direction << 24 | (__u32)packet->protocol << 16;

	if (packet->protocol != IPPROTO_ICMP)
		service |= bpf_ntohs(packet->destination_port);
	return service;
}

/* False when no rule matches. */
static __always_inline bool rules_match(const struct nf_packet *packet, struct rules_found *best)
{
	const struct rules_range *source, *destination, *service;
	const struct rules_size *size;
	__u32 zero = 0;
	__u64 shapes;
	int i;

	size = bpf_map_lookup_elem(&rules_sizes, &zero);
	if (!size)
		return false;
	source = rules_range(&rules_sources, size->sources, bpf_ntohl(packet->source));
	destination = rules_range(&rules_destinations, size->destinations, bpf_ntohl(packet->destination));
	service = rules_range(&rules_services, size->services, rules_service(packet));
	if (!source || !destination || !service)
		return false;
	best->rule = ~0U;
	shapes = source->shapes & destination->shapes & service->shapes;
	for (i = 0; i < RULES_SHAPES && i < size->shapes; i++) {
		const struct rules_shape *shape;
		const struct rules_found *found;
		struct rules_key key;
		__u32 number = i;

		if (!(shapes >> i & 1))
			continue;
		shape = bpf_map_lookup_elem(&rules_shapes, &number);
		if (!shape || shape->first > best->rule)
			break; /* no later one is of an earlier rule */
		key.source = rules_condition(source, shape->source);
		key.destination = rules_condition(destination, shape->destination);
		key.service = rules_condition(service, shape->service);
		found = bpf_map_lookup_elem(&rules_table, &key);
		if (found && found->rule < best->rule)
			*best = *found;
	}
	return best->rule != ~0U;
}
