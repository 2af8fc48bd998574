// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The function "multipath": sends each flow to one of several private endpoints, by a hash of its 5-tuple, and leaves the
 * decision to the next function. Which backend a value of the hash stands for is one table, which is replaced whole when
 * a backend goes down or comes up. An open flow stays with its backend as long as that is one of the function's.
 */

//go:build ignore

#include <linux/in.h>
#include <stdbool.h>

#include "bits.h"
#include "nf.h"

enum multipath_limit {
	MULTIPATH_BACKENDS = 64, /* a power of two */
	MULTIPATH_SLOTS = 16384, /* the same */
	MULTIPATH_NOBODY = 255,	 /* in a slot: no backend is up */
};

struct multipath_target {
	__u32 address;
	__u16 port; /* 0: the flow's own */
	__u16 pad;
};

struct multipath_table {
	__u64 seed;
	__u32 count; /* of targets */
	__u32 pad;
	struct multipath_target target[MULTIPATH_BACKENDS]; /* up or not */
	__u8 slot[MULTIPATH_SLOTS];			    /* places in target */
};

struct multipath_inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct multipath_table);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_RDONLY_PROG);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct multipath_inner);
} multipath_tables SEC(".maps");

static __always_inline __u16 multipath_port(const struct nf_packet *packet, const struct multipath_target *target)
{
	return packet->protocol == IPPROTO_TCP || packet->protocol == IPPROTO_UDP ? target->port : 0;
}

/* Whether an open flow is with one of the backends. */
static __always_inline bool multipath_stays(const struct nf_packet *packet, const struct multipath_table *table)
{
	__u32 i;

	for (i = 0; i < MULTIPATH_BACKENDS && i < table->count; i++) {
		const struct multipath_target *target = &table->target[i];
		__u16 port = multipath_port(packet, target);

		if (target->address == packet->at_address &&
		    (port ? port : packet->destination_port) == packet->at_port)
			return true;
	}
	return false;
}

SEC("xdp")
int nf_multipath(struct xdp_md *ctx)
{
	struct nf_packet *packet = nf_packet();
	const struct multipath_target *target;
	const struct multipath_table *table;
	__u32 zero = 0, place;
	__u64 hash;
	void *inner;

	inner = bpf_map_lookup_elem(&multipath_tables, &zero);
	if (!packet || !inner)
		return NF_FAIL;
	table = bpf_map_lookup_elem(inner, &zero);
	if (!table)
		return NF_FAIL;
	if (packet->at_address && multipath_stays(packet, table)) {
		packet->to_address = packet->at_address;
		packet->to_port = packet->at_port;
		return NF_CONTINUE;
	}
	hash = mix_word(table->seed, (__u64)packet->source << 32 | packet->destination);
	hash = mix_word(hash,
			(__u64)packet->source_port << 32 | (__u64)packet->destination_port << 16 | packet->protocol);
	place = table->slot[hash & (MULTIPATH_SLOTS - 1)];
	if (place == MULTIPATH_NOBODY)
		return NF_DROP;
	asm volatile("" : "+r"(place)); /* or the compiler leaves out the mask that the verifier wants */
	target = &table->target[place & (MULTIPATH_BACKENDS - 1)];
	packet->to_address = target->address;
	packet->to_port = multipath_port(packet, target);
	return NF_CONTINUE;
}

/* Types that Go needs and no map names: a mention keeps them in the object's type information. */
struct exported {
	enum multipath_limit limit;
	struct multipath_table table;
};
const struct exported *exported __attribute__((unused));

char _license[] SEC("license") = "Dual BSD/GPL";
