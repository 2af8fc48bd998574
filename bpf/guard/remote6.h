/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is known of remote IPv6 addresses: the marks of remote.h, of ranges in rising order that have all addresses. An
 * index by the top 16 bits of an address has the few ranges that it can lie in, and halving finds it among them. Each
 * program has tables of its own, made by internal/nf.
 */
#pragma once

#include "remote.h"

enum remote6_limit {
	REMOTE6_PREFIXES = 1 << 16,
	REMOTE6_STEPS = 23, /* halvings: 8 M ranges, as many as of IPv4 */
};

/* The ranges that begin within a prefix, and the one that it begins in: from first on. */
struct remote6_prefix {
	__u32 first;
	__u32 count;
};

/* From its start up to the next one's. Words are in host byte order. */
struct remote6_range {
	__u64 high;
	__u64 low;
	__u64 marks;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct remote6_prefix);
	__uint(max_entries, REMOTE6_PREFIXES);
	__uint(map_flags, BPF_F_RDONLY_PROG);
} remote6_prefixes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct remote6_range);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_RDONLY_PROG);
} remote6_ranges SEC(".maps");

/* Whether one number is below the other, as 0 or 1: the borrow of their difference, without a branch. */
static __always_inline __u64 remote6_below(__u64 one, __u64 other)
{
	__u64 borrow = (~one & other) | ((~one | other) & (one - other));

	asm volatile("" : "+r"(borrow));
	return borrow >> 63;
}

/* All bits where the range begins at the address or before it, else none. */
static __always_inline __u32 remote6_reached(const struct remote6_range *range, __u64 high, __u64 low)
{
	__u64 before = remote6_below(range->high, high);
	__u64 behind = remote6_below(high, range->high);

	return -(__u32)(before | ((behind | remote6_below(low, range->low)) ^ 1));
}

/* The marks of an address, of flows from outside and from inside; false where there is no table. */
static __always_inline bool remote6_find(__u64 high, __u64 low, __u32 *marks)
{
	__u32 number = high >> 48, first, count, i;
	const struct remote6_prefix *prefix = bpf_map_lookup_elem(&remote6_prefixes, &number);
	const struct remote6_range *range;

	if (!prefix)
		return false;
	first = prefix->first;
	count = prefix->count;
	for (i = 0; i < REMOTE6_STEPS && count > 1; i++) {
		number = first + count / 2;
		range = bpf_map_lookup_elem(&remote6_ranges, &number);
		if (!range)
			return false;
		first += count / 2 & remote6_reached(range, high, low);
		count -= count / 2;
	}
	range = bpf_map_lookup_elem(&remote6_ranges, &first);
	if (!range)
		return false;
	*marks = range->marks;
	return true;
}
