// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The function "connlimit": each source may have so many connections open. A source has a record with a slot for each
 * connection, which is there from the packet that opens it to the first FIN or RST, or until none of its packets has come
 * for the idle time. Records stand in buckets of two; one without connections gives way. Where neither does, the function
 * cannot say.
 */

//go:build ignore

#include <linux/in.h>
#include <stdbool.h>

#include "bits.h"
#include "nf.h"

enum connlimit_limit {
	CONNLIMIT_MOST = 64, /* connections of a source */
	CONNLIMIT_WAYS = 2,
	CONNLIMIT_TICK = 27, /* bits of a clock in ns: 134 ms */
};

struct connlimit_settings {
	__u64 seed;
	__u32 most;    /* connections of a source, up to CONNLIMIT_MOST */
	__u32 idle;    /* ticks */
	__u32 buckets; /* a power of two */
	__u32 pad;
};

struct connlimit_source {
	__u64 who;		    /* 0: nobody's */
	__u64 slot[CONNLIMIT_MOST]; /* the hash of a flow << 32 | the tick of its last packet; 0: free */
};

struct connlimit_bucket {
	struct connlimit_source way[CONNLIMIT_WAYS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct connlimit_settings);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_RDONLY_PROG);
} connlimits SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct connlimit_bucket);
	__uint(max_entries, 1);
} connlimit_table SEC(".maps");

static __always_inline bool connlimit_is_free(const struct connlimit_settings *settings, __u64 slot, __u32 now)
{
	return !slot || (__s32)(now - (__u32)slot) > (__s32)settings->idle;
}

static __always_inline bool connlimit_is_idle(const struct connlimit_settings *settings,
					      const struct connlimit_source *source, __u32 now)
{
	int i;

	for (i = 0; i < CONNLIMIT_MOST; i++)
		if (!connlimit_is_free(settings, *(volatile __u64 *)&source->slot[i], now))
			return false;
	return true;
}

/* The record of the packet's source. One is taken where the packet opens a connection; 0: there is none. */
static __always_inline struct connlimit_source *connlimit_find(const struct connlimit_settings *settings,
							       const struct nf_packet *packet, __u32 now)
{
	__u64 who = mix_word(settings->seed, packet->source) | 1;
	__u32 number = who >> 32 & (settings->buckets - 1);
	struct connlimit_bucket *bucket = bpf_map_lookup_elem(&connlimit_table, &number);
	int i;

	if (!bucket)
		return 0;
#pragma unroll
	for (i = 0; i < CONNLIMIT_WAYS; i++)
		if (*(volatile __u64 *)&bucket->way[i].who == who)
			return &bucket->way[i];
	if (!packet->opens)
		return 0;
#pragma unroll
	for (i = 0; i < CONNLIMIT_WAYS; i++) {
		struct connlimit_source *source = &bucket->way[i];
		__u64 old = *(volatile __u64 *)&source->who;

		if (old && !connlimit_is_idle(settings, source, now))
			continue;
		if (packet->dry || __sync_val_compare_and_swap(&source->who, old, who) == old)
			return source;
	}
	return 0;
}

/* Takes a free slot for the connection that a packet opens. */
static __always_inline enum nf_verdict connlimit_open(const struct connlimit_settings *settings,
						      struct connlimit_source *source, const struct nf_packet *packet,
						      __u64 flow, __u32 now)
{
	__u32 i;

	for (i = 0; i < CONNLIMIT_MOST && i < settings->most; i++) {
		__u64 old = *(volatile __u64 *)&source->slot[i];

		if (!connlimit_is_free(settings, old, now))
			continue;
		if (packet->dry || __sync_val_compare_and_swap(&source->slot[i], old, flow | now) == old)
			return NF_CONTINUE;
	}
	return NF_DROP;
}

SEC("xdp")
int nf_connlimit(struct xdp_md *ctx)
{
	const __u8 fin = 0x01, rst = 0x04;
	const struct connlimit_settings *settings;
	const struct nf_packet *packet = nf_packet();
	__u32 zero = 0, now = bpf_ktime_get_ns() >> CONNLIMIT_TICK, i;
	struct connlimit_source *source;
	__u64 flow;

	settings = bpf_map_lookup_elem(&connlimits, &zero);
	if (!packet || !settings)
		return NF_FAIL;
	source = connlimit_find(settings, packet, now);
	if (!source)
		return packet->opens ? NF_FAIL : NF_CONTINUE;
	flow = mix_word(settings->seed, (__u64)packet->source << 32 | packet->destination);
	flow = mix_word(flow,
			(__u64)packet->source_port << 32 | (__u64)packet->destination_port << 16 | packet->protocol);
	flow = (flow | 1ULL << 63) >> 32 << 32;
	for (i = 0; i < CONNLIMIT_MOST && i < settings->most; i++) {
		volatile __u64 *slot = &source->slot[i];

		if (*slot >> 32 << 32 != flow)
			continue;
		if (packet->dry)
			return NF_CONTINUE;
		if (packet->protocol == IPPROTO_TCP && (packet->tcp_flags & (fin | rst)))
			*slot = 0;
		else if ((__u32)*slot != now)
			*slot = flow | now;
		return NF_CONTINUE;
	}
	return packet->opens ? connlimit_open(settings, source, packet, flow, now) : NF_CONTINUE;
}

/* For Go. */
struct exported {
	enum connlimit_limit limit;
};
const struct exported *exported __attribute__((unused));

char _license[] SEC("license") = "Dual BSD/GPL";
