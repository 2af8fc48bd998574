// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The function "connlimit": each source may have so many connections open. A source has a record with a slot for each
 * connection, which counts until some tick: a short time on while the source may not be who it says, the idle time on
 * once it is known. Records stand in buckets of eight; one without open connections gives way. Where none
 * does, the function cannot say.
 */

//go:build ignore

#include <linux/in.h>
#include <stdbool.h>

#include "bits.h"
#include "nf.h"

enum connlimit_limit {
	CONNLIMIT_MOST = 64, /* connections of a source */
	CONNLIMIT_WAYS = 8,
	CONNLIMIT_TICK = 27, /* bits of a clock in ns: 134 ms */
};

/* What is known of a connection: the two lowest bits of its slot's flow. */
enum connlimit_state {
	CONNLIMIT_OPENING, /* somebody began it */
	CONNLIMIT_OPEN,	   /* of TCP: the source has seen the other end's answer; of others, the other end answered */
	CONNLIMIT_ENDING,  /* it was open, and the source says that it ends it, or somebody in the other end's name */
	CONNLIMIT_STATE = 3,
};

struct connlimit_settings {
	__u64 seed;
	__u32 most;    /* connections of a source, up to CONNLIMIT_MOST */
	__u32 idle;    /* ticks that one counts which is open */
	__u32 brief;   /* and any other */
	__u32 buckets; /* a power of two */
};

struct connlimit_slot {
	__u32 flow;  /* a hash of it, and what is known of it; 0: none */
	__u32 until; /* the tick from which on it does not count, unless packets come */
};

/* Packets that change nothing read it without the lock. */
struct connlimit_bucket {
	__u64 who[CONNLIMIT_WAYS];  /* whose record it is; 0: nobody's */
	__u32 kept[CONNLIMIT_WAYS]; /* the tick from which on others may have it */
	struct bpf_spin_lock lock;
	__u32 pad;
	struct connlimit_slot slot[CONNLIMIT_WAYS][CONNLIMIT_MOST];
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

/*
 * A number that a loop or branches have found, without what the verifier knows of it: else it follows what comes behind
 * for each that may be, a million instructions. any: what it does not know.
 */
static __always_inline __u64 connlimit_found(__u64 number, __u64 any)
{
	asm volatile("%0 += %1\n\t%0 -= %1" : "+r"(number) : "r"(any));
	return number;
}

/* The way of a source's record; CONNLIMIT_WAYS: it has none. */
static __always_inline __u64 connlimit_find(const struct connlimit_bucket *bucket, __u64 who)
{
	__u64 i;

	for (i = 0; i < CONNLIMIT_WAYS; i++)
		if (bucket->who[i] == who)
			break;
	return connlimit_found(i, who);
}

/* Whether now is before the tick: one further ahead than the idle time was set before that was made shorter. */
static __always_inline bool connlimit_is_ahead(const struct connlimit_settings *settings, __u32 tick, __u32 now)
{
	return tick - now - 1 <= settings->idle; /* another CPU's now may be a tick ahead */
}

/* The way that a new source may have: the one that was not kept for longest. CONNLIMIT_WAYS: all are kept. */
static __always_inline __u64 connlimit_give_way(const struct connlimit_settings *settings,
						const struct connlimit_bucket *bucket, __u32 now)
{
	__u64 i, way = CONNLIMIT_WAYS;
	__s32 longest = -1;

	for (i = 0; i < CONNLIMIT_WAYS; i++) {
		__u32 since = now - bucket->kept[i];

		if (connlimit_is_ahead(settings, bucket->kept[i], now))
			continue;
		since = (__s32)since < 0 ? 0 : since;
		if ((__s32)since > longest) {
			longest = since;
			way = i;
		}
	}
	return connlimit_found(way, now);
}

/* The number of a flow's slot; CONNLIMIT_MOST: it has none. */
static __always_inline __u64 connlimit_of_flow(const struct connlimit_settings *settings,
					       const struct connlimit_slot *slot, __u32 flow)
{
	__u64 i, number = CONNLIMIT_MOST;

	for (i = 0; i < CONNLIMIT_MOST && i < settings->most; i++)
		if ((slot[i].flow & ~CONNLIMIT_STATE) == flow) {
			number = i;
			break;
		}
	return connlimit_found(number, flow);
}

/* The number of a slot that does not count; CONNLIMIT_MOST: all do. */
static __always_inline __u64 connlimit_free(const struct connlimit_settings *settings,
					    const struct connlimit_slot *slot, __u32 now)
{
	__u64 i, number = CONNLIMIT_MOST;

	for (i = 0; i < CONNLIMIT_MOST && i < settings->most; i++)
		if (!connlimit_is_ahead(settings, slot[i].until, now)) {
			number = i;
			break;
		}
	return connlimit_found(number, now);
}

static __always_inline bool connlimit_ends(const struct nf_packet *packet)
{
	const __u8 fin = 0x01, rst = 0x04;

	return packet->protocol == IPPROTO_TCP && (packet->tcp_flags & (fin | rst));
}

/* The slot after a packet of its connection. */
static __always_inline struct connlimit_slot connlimit_after(const struct connlimit_settings *settings,
							     struct connlimit_slot slot, const struct nf_packet *packet,
							     __u32 now)
{
	bool ends = connlimit_ends(packet);
	bool opens = packet->protocol == IPPROTO_TCP ? packet->proves && !packet->answers && !ends : packet->answers;
	__u32 state = slot.flow & CONNLIMIT_STATE;

	if (ends && packet->answers && (packet->proves || state == CONNLIMIT_OPENING)) /* a refusal proves nothing */
		return (struct connlimit_slot){.flow = 0, .until = now};
	if (ends && state == CONNLIMIT_OPEN)
		state = CONNLIMIT_ENDING;
	else if (opens)
		state = CONNLIMIT_OPEN;
	state = connlimit_found(state, now);
	slot.flow = (slot.flow & ~CONNLIMIT_STATE) | state;
	slot.until = now + (state == CONNLIMIT_OPEN ? settings->idle : settings->brief);
	return slot;
}

static __always_inline bool connlimit_was_open(const struct connlimit_slot *slot)
{
	return (slot->flow & CONNLIMIT_STATE) != CONNLIMIT_OPENING;
}

/* The tick from which on no connection of a record that was open counts. */
static __always_inline __u32 connlimit_latest(const struct connlimit_settings *settings,
					      const struct connlimit_slot *slot, __u32 now)
{
	__u32 i, longest = 0;

	for (i = 0; i < CONNLIMIT_MOST && i < settings->most; i++)
		if (connlimit_was_open(&slot[i]) && connlimit_is_ahead(settings, slot[i].until, now) &&
		    slot[i].until - now > longest)
			longest = slot[i].until - now;
	return now + longest;
}

/* Under the bucket's lock. A record is kept while a connection of it that was open counts. */
static __always_inline void connlimit_put(const struct connlimit_settings *settings, struct connlimit_bucket *bucket,
					  __u64 way, __u64 number, struct connlimit_slot slot, __u32 now)
{
	bool was_open = connlimit_was_open(&bucket->slot[way][number]);

	bucket->slot[way][number] = slot;
	if ((slot.flow & CONNLIMIT_STATE) == CONNLIMIT_OPEN)
		bucket->kept[way] = slot.until; /* the longest */
	else if (was_open)
		bucket->kept[way] = connlimit_latest(settings, bucket->slot[way], now);
	else if (!connlimit_is_ahead(settings, bucket->kept[way], now))
		bucket->kept[way] = now;
}

/*
 * Gives a connection a slot, under the bucket's lock. begins: its first packet opens it; else one that was open before begins
 * to count, and keeps a slot that another CPU has given it.
 */
static __always_inline enum nf_verdict connlimit_open(const struct connlimit_settings *settings,
						      struct connlimit_bucket *bucket, bool dry, bool begins, __u64 who,
						      struct connlimit_slot slot, __u32 now)
{
	__u64 i, number, way = connlimit_find(bucket, who);

	if (way >= CONNLIMIT_WAYS) {
		way = connlimit_give_way(settings, bucket, now);
		if (way >= CONNLIMIT_WAYS)
			return NF_FAIL;
		if (dry)
			return NF_CONTINUE;
		bucket->who[way] = who;
		for (i = 0; i < CONNLIMIT_MOST; i++)
			bucket->slot[way][i] = (struct connlimit_slot){.flow = 0, .until = now};
	}
	number = connlimit_of_flow(settings, bucket->slot[way], slot.flow & ~CONNLIMIT_STATE);
	if (number < CONNLIMIT_MOST && !begins)
		return NF_CONTINUE;
	if (number >= CONNLIMIT_MOST)
		number = connlimit_free(settings, bucket->slot[way], now);
	if (number >= CONNLIMIT_MOST)
		return NF_DROP;
	if (!dry)
		connlimit_put(settings, bucket, way, number, slot, now);
	return NF_CONTINUE;
}

/* Any other packet; false where its connection has no slot. */
static __always_inline bool connlimit_hear(const struct connlimit_settings *settings, struct connlimit_bucket *bucket,
					   const struct nf_packet *packet, __u64 who, __u32 flow, __u32 now)
{
	__u64 number, way = connlimit_find(bucket, who);
	struct connlimit_slot *slot, after;

	if (way >= CONNLIMIT_WAYS)
		return false;
	number = connlimit_of_flow(settings, bucket->slot[way], flow);
	if (number >= CONNLIMIT_MOST)
		return false;
	slot = &bucket->slot[way][number];
	after = connlimit_after(settings, *slot, packet, now);
	if (after.flow == slot->flow && after.until == slot->until)
		return true;
	bpf_spin_lock(&bucket->lock);
	if (bucket->who[way] == who && (slot->flow & ~CONNLIMIT_STATE) == flow)
		connlimit_put(settings, bucket, way, number, connlimit_after(settings, *slot, packet, now), now);
	bpf_spin_unlock(&bucket->lock);
	return true;
}

SEC("xdp")
int nf_connlimit(struct xdp_md *ctx)
{
	__u32 zero = 0, now = bpf_ktime_get_ns() >> CONNLIMIT_TICK, number, flow;
	const struct nf_packet *packet = nf_packet();
	const struct connlimit_settings *settings;
	struct connlimit_bucket *bucket;
	struct connlimit_slot slot;
	enum nf_verdict said;
	__u64 who, hash;

	settings = bpf_map_lookup_elem(&connlimits, &zero);
	if (!packet || !settings)
		return NF_FAIL;
	who = mix_word(settings->seed, packet->source) | 1;
	number = who >> 32 & (settings->buckets - 1);
	bucket = bpf_map_lookup_elem(&connlimit_table, &number);
	if (!bucket)
		return NF_FAIL;
	hash = mix_word(settings->seed, (__u64)packet->source << 32 | packet->destination);
	hash = mix_word(hash,
			(__u64)packet->source_port << 32 | (__u64)packet->destination_port << 16 | packet->protocol);
	flow = (hash >> 32 | 1U << 31) & ~CONNLIMIT_STATE;
	slot = (struct connlimit_slot){.flow = flow | CONNLIMIT_OPENING, .until = now + settings->brief};
	if (!packet->opens) {
		if (packet->dry || packet->error || connlimit_hear(settings, bucket, packet, who, flow, now) ||
		    packet->hook == NF_HOOK_PACKET || connlimit_ends(packet))
			return NF_CONTINUE;
		/*
		 * A flow without a slot that is checked anew, as behind a change of the configuration or with a new daemon,
		 * begins to count by what this packet shows, and is not refused.
		 */
		slot = connlimit_after(settings, slot, packet, now);
	}
	bpf_spin_lock(&bucket->lock);
	said = connlimit_open(settings, bucket, packet->dry, packet->opens, who, slot, now);
	bpf_spin_unlock(&bucket->lock);
	return packet->opens ? said : NF_CONTINUE;
}

/* For Go. */
struct exported {
	enum connlimit_limit limit;
	enum nf_hook hook;
};
const struct exported *exported __attribute__((unused));

char _license[] SEC("license") = "Dual BSD/GPL";
