/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The first of many rules that a packet matches, in a time that does not grow with their number. Each dimension
 * (source, destination, service) is cut into ranges at the bounds of the rules' conditions; a table by the top bits of a
 * value has the few ranges of each prefix. A range knows its class: the conditions that hold there. Conditions that hold
 * at once are in different levels. Rules of one mask ask for conditions of the same levels, and are found by one look
 * into a hash table; a class knows the masks of the rules that it can meet, so that nearly all looks find one. Each
 * program has tables of its own, made by internal/nf. Where an address lies nobody can foretell, so that to find its
 * range takes as few cache lines and as few branches as can be.
 */
#pragma once

#include <linux/in.h>
#include <bpf/bpf_endian.h>

#include "nf.h"

enum rules_limit {
	RULES_LEVELS = 14, /* conditions of one dimension that may overlap, beside the one that always holds */
	RULES_MASKS = 64,  /* bits of a word */
	RULES_BITS = 18,   /* the most by which ranges are looked up */
	RULES_STEPS = 6,   /* nodes of nodes, one below the other: 15^6 nodes of ranges */
	RULES_ALTERNATING_BITS = 15,  /* bits of a value that a node of alternating ranges tells apart */
	RULES_PLACES = 2,	      /* nodes that a rule may be in */
	RULES_MASKS_ARE = 0x6d61736b, /* "mask": internal/nf writes how many there are in the place of this number */
	RULES_SERVICES = 17,	      /* bits of a service's condition in a key; the others are the source port's */
};

/*
 * All is in one array of nodes, each a cache line: the head, the masks, of each dimension its ranges and its classes,
 * and the rules. A class is a word of the masks of rules that it can meet, and the
 * condition in each level, 0 for none; a node has as many classes as fit.
 */
struct rules_node {
	__u64 word[8];
};

struct rules_dimension {
	__u32 ranges; /* the nodes where these begin */
	__u32 classes;
	__u8 shift;	  /* of a value: which node has its ranges */
	__u8 class_shift; /* of a class's number: its first byte */
	__u16 pad;
};

struct rules_found {
	__u32 rule; /* its place, from 0; RULES_NONE for none */
	__u32 value;
};

#define RULES_NONE (~0U)

struct rules_head {
	struct rules_dimension source;
	struct rules_dimension destination;
	struct rules_dimension service;
	__u32 masks;	 /* how many, which programs have as a number; in the order of their first rules */
	__u32 rules;	 /* the node where these begin */
	__u32 hash_mask; /* their nodes less one: a power of two */
	/* What is found before any rule. The verifier must not know it, or it looks at all that follows twice. */
	struct rules_found none;
	__u32 source_port; /* the node of this dimension; 0: no rule asks for it */
	__u32 pad;
};

struct rules_dimension_node {
	struct rules_dimension dimension;
	__u32 pad[13];
};

/* The level of the condition in each dimension, from 1; 0 is the condition that always holds. */
struct rules_mask {
	__u8 source;
	__u8 destination;
	__u8 service;
	__u8 source_port;
	__u32 first; /* the first rule of this mask */
};

struct rules_mask_node {
	struct rules_mask mask[8];
};

/* Each range is from first up to the next one; the first range of a prefix may begin before it. */
struct rules_range_node {
	__u32 first[8];
	__u32 class[8];
};

/* A prefix with many ranges of two alternating classes, as a set makes them. */
struct rules_alternating_node {
	__u64 bounds[7]; /* four each: where a range begins within the prefix, 1 << RULES_ALTERNATING_BITS for none */
	__u32 class[2];	 /* with RULES_MARK in the second */
};

/* Where a prefix has more ranges than a node takes: others that have them, or nodes like this one, in rising order. */
struct rules_inner_node {
	__u32 nodes;	/* the first of up to 15 */
	__u32 last[14]; /* the last value of each but the last; beyond them, RULES_NONE */
	__u32 inner;	/* RULES_INNER, which is no class */
};

#define RULES_MARK  (1U << 31)
#define RULES_INNER (~0U)

struct rules_key {
	__u32 source;
	__u32 destination;
	__u32 service; /* and, above its bits, source port */
};

struct rules_rule {
	struct rules_key key; /* RULES_NONE is no condition */
	struct rules_found found;
};

struct rules_rule_node {
	struct rules_rule rule[3];
	__u32 displaced; /* rules that belong here are in their other place */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct rules_node);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_RDONLY_PROG | BPF_F_MMAPABLE); /* values begin at a page: none is in two cache lines */
} rules_nodes SEC(".maps");

static __always_inline const void *rules_node(__u32 number)
{
	return bpf_map_lookup_elem(&rules_nodes, &number);
}

/* All bits where the number is below zero, else none: no branch, which could not be foretold. */
static __always_inline __u64 rules_below(__s64 number)
{
	asm volatile("" : "+r"(number));
	return number >> 63;
}

/* 1 where the first number is below the other, else 0. Counts of these need not wait for each other, as halvings do. */
static __always_inline __u32 rules_is_below(__u32 number, __u32 other)
{
	__u64 difference = (__u64)number - other;

	asm volatile("" : "+r"(difference));
	return difference >> 63;
}

/* The class of a value among ranges. */
static __always_inline __u32 rules_of_ranges(const struct rules_range_node *ranges, __u32 value)
{
	__u32 place = 0;
	int i;

	for (i = 1; i < 8; i++)
		place += rules_is_below(value, ranges->first[i]);
	return ranges->class[7 - (place & 7)];
}

/* The node that has a value's range, or an inner node below it. */
static __always_inline __u32 rules_of_inner(const struct rules_inner_node *inner, __u32 value)
{
	__u32 node = inner->nodes;
	int i;

	for (i = 0; i < 14; i++)
		node += rules_is_below(inner->last[i], value);
	return node;
}

/* The class of a value, without the bits of its prefix, among alternating ranges. A lane of 16 bits for each bound: the top one stays where it is reached. */
static __always_inline __u32 rules_of_alternating(const struct rules_alternating_node *alternating, __u32 value)
{
	const __u64 lanes = 0x0001000100010001ULL;
	__u64 within = (value | 1U << RULES_ALTERNATING_BITS) * lanes, reached = 0;
	int i;

	for (i = 0; i < 7; i++)
		reached += ((within - alternating->bounds[i]) >> RULES_ALTERNATING_BITS) & lanes;
	return alternating->class[(reached * lanes >> 48) & 1] & ~RULES_MARK;
}

/* Where a class is: at that byte of the node. */
struct rules_held {
	const void *node;
	__u32 at;
};

/* The class of a value. */
static __always_inline bool rules_hold(const struct rules_dimension *dimension, __u32 value, struct rules_held *held)
{
	const struct rules_range_node *ranges;
	__u32 class;
	int i;

	ranges = rules_node(dimension->ranges + (__u32)((__u64)value >> (dimension->shift & 63)));
	if (!ranges)
		return false;
	for (i = 0; i < RULES_STEPS && ranges->class[7] == RULES_INNER; i++) {
		ranges = rules_node(rules_of_inner((const void *)ranges, value));
		if (!ranges)
			return false;
	}
	if (ranges->class[7] & RULES_MARK)
		class = rules_of_alternating((const void *)ranges, value & ((1ULL << (dimension->shift & 63)) - 1));
	else
		class = rules_of_ranges(ranges, value);
	held->at = class << (dimension->class_shift & 31);
	held->node = rules_node(dimension->classes + (held->at >> 6));
	return held->node;
}

/* What a class has from that byte on. The mask tells the verifier that a class is within its node. */
#define RULES_AT(type, held, from) (*(const type *)((held)->node + (((held)->at + (from)) & (64 - sizeof(type)))))

static __always_inline __u32 rules_condition(const struct rules_held *held, __u8 level)
{
	return RULES_AT(__u32, held, sizeof(__u64) + 4 * (level - 1)) & rules_below(-(__s64)level);
}

/* The low half is a rule's first place, and the high half its other. */
static __always_inline __u64 rules_hash(const struct rules_key *key)
{
	const __u64 odd = 0x9e3779b97f4a7c15ULL; /* 2^64 over the golden ratio */
	__u64 hash = ((__u64)key->source << 32 | key->destination) * odd;

	hash = (hash >> 32 ^ hash ^ key->service) * odd;
	return hash >> 32 ^ hash;
}

/* All bits where it is the rule of a key, else none. */
static __always_inline __u32 rules_is(const struct rules_rule *rule, const struct rules_key *key)
{
	__u32 differ = (rule->key.source ^ key->source) | (rule->key.destination ^ key->destination) |
		       (rule->key.service ^ key->service);

	return rules_below((__s64)differ - 1);
}

static __always_inline bool rules_has(const struct rules_rule_node *node, const struct rules_key *key)
{
	return rules_is(&node->rule[0], key) | rules_is(&node->rule[1], key) | rules_is(&node->rule[2], key);
}

/* Takes the rule of a key where it comes before the best one; false where there is no such node. */
static __always_inline bool rules_find(const struct rules_head *head, const struct rules_key *key,
				       struct rules_found *best)
{
	__u64 hash = rules_hash(key);
	const struct rules_rule_node *node = rules_node(head->rules + ((__u32)hash & head->hash_mask));
	__u32 is[3], rule, value, better;

	if (!node)
		return false;
	if (node->displaced && !rules_has(node, key)) {
		node = rules_node(head->rules + ((__u32)(hash >> 32) & head->hash_mask));
		if (!node)
			return false;
	}
	is[0] = rules_is(&node->rule[0], key);
	is[1] = rules_is(&node->rule[1], key);
	is[2] = rules_is(&node->rule[2], key);
	rule = (node->rule[0].found.rule & is[0]) | (node->rule[1].found.rule & is[1]) |
	       (node->rule[2].found.rule & is[2]);
	value = (node->rule[0].found.value & is[0]) | (node->rule[1].found.value & is[1]) |
		(node->rule[2].found.value & is[2]);
	better = rules_below((__s64)rule - best->rule) & (is[0] | is[1] | is[2]);
	asm volatile("" : "+r"(better)); /* else it becomes a branch */
	best->rule = (rule & better) | (best->rule & ~better);
	best->value = (value & better) | (best->value & ~better);
	return true;
}

/* How many masks there are. The verifier goes through the loop of each: it is told, and ends where it does. */
static __always_inline __u32 rules_masks(void)
{
	__u32 masks;

	asm volatile("%0 = %1" : "=r"(masks) : "i"(RULES_MASKS_ARE));
	return masks;
}

#define RULES_OTHERS 255 /* stands for all protocols that rules do not name */

/* Direction, protocol and port as one number. The port of what has none is 0. */
static __always_inline __u32 rules_service(const struct nf_packet *packet)
{
	__u32 service = (__u32)packet->direction << 24;

	switch (packet->protocol) {
	case IPPROTO_TCP:
	case IPPROTO_UDP:
		return service | (__u32)packet->protocol << 16 | bpf_ntohs(packet->destination_port);
	case IPPROTO_ICMP:
		return service | IPPROTO_ICMP << 16;
	}
	return service | RULES_OTHERS << 16;
}

/* The source port as a number, of what has one; 0 for all else. */
static __always_inline __u32 rules_source_port(const struct nf_packet *packet)
{
	if (packet->protocol != IPPROTO_TCP && packet->protocol != IPPROTO_UDP)
		return 0;
	return 1U << 16 | bpf_ntohs(packet->source_port);
}

/*
 * False when no rule matches. source_ports is known when it is compiled: where no rule asks for source ports another program is
 * taken, which has nothing of them.
 */
static __always_inline bool rules_match(const struct nf_packet *packet, struct rules_found *best,
					const bool source_ports)
{
	struct rules_held source, destination, service, source_port;
	const struct rules_head *head = rules_node(0);
	__u64 masks;
	int i;

	if (!head || !rules_hold(&head->source, bpf_ntohl(packet->source), &source) ||
	    !rules_hold(&head->destination, bpf_ntohl(packet->destination), &destination) ||
	    !rules_hold(&head->service, rules_service(packet), &service))
		return false;
	*best = head->none;
	masks = RULES_AT(__u64, &source, 0) & RULES_AT(__u64, &destination, 0) & RULES_AT(__u64, &service, 0);
	if (source_ports) {
		const struct rules_dimension *dimension = rules_node(head->source_port);

		if (!dimension || !rules_hold(dimension, rules_source_port(packet), &source_port))
			return false;
		masks &= RULES_AT(__u64, &source_port, 0);
	}
	for (i = 0; i < RULES_MASKS && i < rules_masks(); i++) {
		const struct rules_mask_node *node;
		const struct rules_mask *mask;
		struct rules_key key;

		if (!(masks >> i & 1))
			continue;
		node = rules_node(1 + i / 8);
		if (!node)
			break;
		mask = &node->mask[i & 7];
		if (mask->first > best->rule)
			break; /* no later one is of an earlier rule */
		key.source = rules_condition(&source, mask->source);
		key.destination = rules_condition(&destination, mask->destination);
		key.service = rules_condition(&service, mask->service);
		if (source_ports)
			key.service |= rules_condition(&source_port, mask->source_port) << RULES_SERVICES;
		if (!rules_find(head, &key, best))
			break;
	}
	return best->rule != RULES_NONE;
}
