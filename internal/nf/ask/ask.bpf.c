// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The function "ask": hands the first packet of a flow, or the first bytes of its stream, to the daemon, which asks a program
 * of the user's and sends the frames again. Until the program has said what becomes of the flow its frames are held: dropped,
 * and not acknowledged, so that who loses one sends it again. Nothing waits in the kernel.
 */

//go:build ignore

#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <stdbool.h>
#include <bpf/bpf_endian.h>

#include "bits.h"
#include "budget.h"
#include "ctx.h"
#include "nf.h"

enum ask_limit {
	ASK_FLOWS = 65536,     /* of which something is known */
	ASK_SOURCES = 4096,    /* a power of two: places of sources' budgets, and behind them of networks' */
	ASK_OF_SOURCE = 1024,  /* frames in a tick of 268 ms; sources of one place share them */
	ASK_OF_NETWORK = 2048, /* the same of a /24 */
	ASK_RING = 1 << 21,    /* octets of frames that the daemon has not read */
	ASK_SHORT = 1600,      /* octets of a frame */
	ASK_LONG = 16640,
	ASK_AHEAD = 1 << 16, /* octets of a stream behind its first, of which a verdict holds, too */
};

/* What the program has said of a flow. */
enum ask_says {
	ASK_NOTHING, /* yet */
	ASK_CONTINUE,
	ASK_ACCEPT,
	ASK_DROP,
	ASK_FAILED, /* it said nothing in time, or nothing that can be read */
};

/* A flow as functions see it: struct nf_packet. */
struct ask_key {
	__u32 source;
	__u32 destination;
	__u16 source_port;
	__u16 destination_port;
	__u8 protocol;
	__u8 direction;
	__u16 pad;
};

struct ask_flow {
	__u64 until; /* CLOCK_MONOTONIC, ns: as long as it says so */
	__u32 begun; /* of TCP, the number of what is asked about: its SYN's, or that of the first octet */
	__u8 says;   /* enum ask_says */
	__u8 mark;
	__u16 pad;
};

/* Before a frame that is held. */
struct ask_frame {
	struct ask_key key;
	__u32 begun;
	__u32 ifindex;
	__u32 length; /* of the frame */
	__u32 each;   /* octets of each packet of an aggregate, 0: it is one */
};

struct ask_short {
	struct ask_frame head;
	__u8 octet[ASK_SHORT];
};

struct ask_long {
	struct ask_frame head;
	__u8 octet[ASK_LONG];
};

struct ask_state {
	__u64 until; /* CLOCK_MONOTONIC, ns: the daemon has a program that answers; written again and again */
	__u32 bytes; /* asks about the first bytes of a stream */
	__u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, struct ask_key);
	__type(value, struct ask_flow);
	__uint(max_entries, ASK_FLOWS);
} ask_flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, ASK_RING);
} ask_frames SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct ask_state);
	__uint(max_entries, 1);
} ask_states SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 2 * ASK_SOURCES);
} ask_budgets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 1);
} ask_unheard SEC(".maps"); /* frames that were held, and that the daemon has not: of all CPUs */

/* What a segment says of its stream. Without TCP all numbers are 0. */
struct ask_segment {
	__u32 sequence; /* of its first octet, or its SYN's */
	bool syn;
	bool payload;
};

/* Reads the packet, which the gateway has parsed. False where it is no packet of the flow, as an ICMP error about it. */
static __always_inline bool ask_read(ctx_t *ctx, const struct nf_packet *packet, struct ask_segment *segment)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct iphdr *ip = data + ETH_HLEN;
	struct tcphdr *tcp;
	__u32 header, total;

	if ((void *)(ip + 1) > end || ip->protocol != packet->protocol)
		return false;
	header = ip->ihl * 4;
	total = bpf_ntohs(ip->tot_len);
	segment->payload = total > header + sizeof(struct udphdr);
	if (packet->protocol != IPPROTO_TCP)
		return true;
	tcp = (void *)ip + header;
	if ((void *)(tcp + 1) > end)
		return false;
	segment->sequence = bpf_ntohl(tcp->seq);
	segment->syn = tcp->syn;
	segment->payload = total > header + tcp->doff * 4;
	return true;
}

static __always_inline void ask_fill(struct ask_frame *frame, ctx_t *ctx, const struct ask_key *key, __u32 begun,
				     __u32 length)
{
	frame->key = *key;
	frame->begun = begun;
	frame->ifindex = ctx_ifindex(ctx);
	frame->length = length;
	frame->each = ctx_segment_size(ctx);
}

/* Hands the frame to the daemon. False: there is no room for it, and its sender sends it again. */
static __always_inline bool ask_hand(ctx_t *ctx, const struct ask_key *key, __u32 begun)
{
	__u64 length = ctx_length(ctx);
	void *record;
	long failed;

	barrier_var(length);
	if (length < ETH_HLEN || length > ASK_LONG)
		return false;
	if (length <= ASK_SHORT) {
		struct ask_short *frame = bpf_ringbuf_reserve(&ask_frames, sizeof(*frame), 0);

		if (!frame)
			return false;
		ask_fill(&frame->head, ctx, key, begun, length);
		failed = ctx_load(ctx, 0, frame->octet, length);
		record = frame;
	} else {
		struct ask_long *frame = bpf_ringbuf_reserve(&ask_frames, sizeof(*frame), 0);

		if (!frame)
			return false;
		ask_fill(&frame->head, ctx, key, begun, length);
		failed = ctx_load(ctx, 0, frame->octet, length);
		record = frame;
	}
	if (failed)
		bpf_ringbuf_discard(record, 0);
	else
		bpf_ringbuf_submit(record, 0);
	return !failed;
}

static __always_inline void ask_miss(void)
{
	__u32 zero = 0;
	__u64 *frames = bpf_map_lookup_elem(&ask_unheard, &zero);

	if (frames)
		__sync_fetch_and_add(frames, 1);
}

/* What the program has said of the flow, and still holds for the segment. */
static __always_inline enum ask_says ask_said(const struct ask_flow *flow, const struct ask_segment *segment)
{
	if (!flow || flow->says == ASK_NOTHING || flow->until < bpf_ktime_get_ns() ||
	    segment->sequence - flow->begun >= ASK_AHEAD)
		return ASK_NOTHING;
	return flow->says;
}

/* Whether the daemon is to hear of one more frame of a source: its network's share is not touched where its own is spent. */
static __always_inline bool ask_is_paid(__u32 source)
{
	__u32 own = mix_word(source, 0) & (ASK_SOURCES - 1);
	__u32 network = ASK_SOURCES + (mix_word(source & bpf_htonl(0xffffff00), 0) & (ASK_SOURCES - 1));

	return budget_spend(bpf_map_lookup_elem(&ask_budgets, &own), ASK_OF_SOURCE) &&
	       budget_spend(bpf_map_lookup_elem(&ask_budgets, &network), ASK_OF_NETWORK);
}

SEC(CTX_SECTION)
int nf_ask(ctx_t *ctx)
{
	struct nf_packet *packet = nf_packet();
	struct ask_segment segment = {};
	const struct ask_state *state;
	const struct ask_flow *flow;
	struct ask_key key = {};
	__u32 zero = 0, begun;

	state = bpf_map_lookup_elem(&ask_states, &zero);
	if (!packet || !state)
		return NF_FAIL;
	/* What a flow began with before its chain had the function is past. */
	if (packet->answers || packet->error || (state->bytes ? packet->payload == NF_PAYLOAD_DONE : !packet->opens))
		return NF_CONTINUE;
	if (packet->fragment) { /* another may be put over what it says */
		packet->payload = NF_PAYLOAD_FIRST;
		return NF_FAIL;
	}
	if (!ask_read(ctx, packet, &segment))
		return NF_CONTINUE;
	key.source = packet->source;
	key.destination = packet->destination;
	key.source_port = packet->source_port;
	key.destination_port = packet->destination_port;
	key.protocol = packet->protocol;
	key.direction = packet->direction;
	begun = segment.sequence;
	if (state->bytes && packet->protocol == IPPROTO_TCP) {
		if (segment.syn) { /* its data begin behind it, though some may overtake the first */
			struct ask_flow new = {.begun = segment.sequence + 1};

			segment.sequence++;
			begun++;
			flow = bpf_map_lookup_elem(&ask_flows, &key);
			if (!packet->dry && packet->opens && (!flow || flow->begun != begun))
				bpf_map_update_elem(&ask_flows, &key, &new, BPF_ANY);
		}
		if (!segment.payload)
			return NF_CONTINUE;
	} else if (state->bytes && packet->protocol != IPPROTO_UDP) {
		packet->payload = NF_PAYLOAD_FIRST; /* its packets are no stream */
		return NF_CONTINUE;
	} else if (state->bytes && !segment.payload) {
		return NF_CONTINUE;
	}
	flow = bpf_map_lookup_elem(&ask_flows, &key);
	if (state->bytes && packet->protocol == IPPROTO_TCP) {
		if (!flow) { /* of too many flows that began meanwhile: where its stream begins nobody knows */
			packet->payload = NF_PAYLOAD_FIRST;
			return NF_FAIL;
		}
		begun = flow->begun;
	}
	packet->payload = NF_PAYLOAD_FIRST;
	switch (ask_said(flow, &segment)) {
	case ASK_CONTINUE:
		packet->mark = flow->mark;
		return NF_CONTINUE;
	case ASK_ACCEPT:
		return NF_ACCEPT;
	case ASK_DROP:
		return NF_DROP;
	case ASK_FAILED:
		return NF_FAIL;
	case ASK_NOTHING:
		break;
	}
	if (state->until < bpf_ktime_get_ns())
		return NF_FAIL;
	packet->payload = NF_PAYLOAD_NONE;
	if (packet->dry)
		return NF_CONTINUE;
	if (!ask_is_paid(packet->source) || !ask_hand(ctx, &key, begun))
		ask_miss();
	packet->changed = NF_HELD;
	return NF_DROP;
}

/* For Go. */
struct exported {
	enum ask_limit limit;
	enum ask_says says;
	struct ask_frame frame;
};
const struct exported *exported __attribute__((unused));

char _license[] SEC("license") = "Dual BSD/GPL";
