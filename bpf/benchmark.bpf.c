// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The generator of the data plane's benchmarks, and programs to compare with. BPF_PROG_TEST_RUN runs a program many times over one frame and
 * never puts the frame back, so benchmark_next writes the headers of the next tuple into it, with right
 * checksums, and enters the program under test by a tail call. benchmark_parse is what the others are compared
 * with: it parses and does no more. All of it is compiled for both hooks (include/ctx.h).
 */
#include "packet/parse.h"

struct benchmark_tuple {
	__u32 source;
	__u32 destination;
	__u16 source_port;
	__u16 destination_port;
	__u8 protocol;
	__u8 flags; /* TCP */
	__u16 fragment; /* IP's flags and offset, DF the other way round; where there are any source_port is the identification */
};

struct benchmark_state {
	__u32 next; /* tuple */
	__u32 end;  /* behind the last one */
	__u32 first;
	__u32 row; /* so many tuples for the first program, then as many for the second; 0: all for the first */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct benchmark_tuple);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
} benchmark_tuples SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct benchmark_state);
	__uint(max_entries, 1);
} benchmark_states SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u32);
} benchmark_programs SEC(".maps");

#define FAILED	99 /* no action of any hook */
#define PAYLOAD 18 /* of the smallest UDP frame; zeros */

static __always_inline void write_ip(struct iphdr *ip, const struct benchmark_tuple *tuple, __u16 length)
{
	__u64 sum;

	*(__u32 *)ip = bpf_htonl(0x45000000 | length);
	*((__u32 *)ip + 1) = (__u32)(tuple->fragment ^ bpf_htons(IP_DONT_FRAGMENT)) << 16 |
			     (tuple->fragment ? tuple->source_port : 0);
	ip->ttl = 64;
	ip->protocol = tuple->protocol;
	ip->saddr = tuple->source;
	ip->daddr = tuple->destination;
	sum = (__u64) * (__u32 *)ip + *((__u32 *)ip + 1) + *(__u16 *)&ip->ttl + tuple->source + tuple->destination;
	ip->check = ~checksum_fold(sum);
}

SEC(CTX_SECTION)
int benchmark_next(ctx_t *ctx)
{
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct iphdr *ip = (void *)(eth + 1);
	void *l4 = ip + 1;
	struct benchmark_state *state;
	struct benchmark_tuple *tuple;
	__u32 zero = 0, number;
	__u64 sum;

	state = bpf_map_lookup_elem(&benchmark_states, &zero);
	if (!state || l4 + sizeof(struct tcphdr) > (void *)(long)ctx->data_end)
		return FAILED;
	number = state->next;
	state->next = number + 1 < state->end ? number + 1 : state->first;
	tuple = bpf_map_lookup_elem(&benchmark_tuples, &number);
	if (!tuple)
		return FAILED;
	eth->h_proto = bpf_htons(ETH_P_IP);
	sum = (__u64)tuple->source + tuple->destination + tuple->source_port + tuple->destination_port +
	      bpf_htons(tuple->protocol);
	if (tuple->protocol == IPPROTO_UDP) {
		struct udphdr *udp = l4;

		write_ip(ip, tuple, sizeof(*ip) + sizeof(*udp) + PAYLOAD);
		udp->source = tuple->source_port;
		udp->dest = tuple->destination_port;
		udp->len = bpf_htons(sizeof(*udp) + PAYLOAD);
		/* The length stands in the header and in the pseudo-header. */
		udp->check = ~checksum_fold(sum + 2 * (__u64)udp->len);
		*((__u32 *)(udp + 1)) = 0; /* where TCP left words */
		*((__u32 *)(udp + 1) + 1) = 0;
		*((__u32 *)(udp + 1) + 2) = 0;
	} else {
		__u32 *word = l4;
		__u32 control = bpf_htonl(0x50000000 | (__u32)tuple->flags << 16 | 0xffff);

		write_ip(ip, tuple, sizeof(*ip) + sizeof(struct tcphdr));
		word[0] = (__u32)tuple->destination_port << 16 | tuple->source_port;
		word[1] = 0;
		word[2] = 0;
		word[3] = control;
		word[4] = 0;
		((struct tcphdr *)l4)->check = ~checksum_fold(sum + control + bpf_htons(sizeof(struct tcphdr)));
	}
	if (state->row && (number - state->first) / state->row % 2)
		bpf_tail_call(ctx, &benchmark_programs, 1);
	else
		bpf_tail_call(ctx, &benchmark_programs, 0);
	return FAILED;
}

/* What the generator takes. */
SEC(CTX_SECTION)
int benchmark_nothing(ctx_t *ctx)
{
	return CTX_PASS;
}

SEC(CTX_SECTION)
int benchmark_parse(ctx_t *ctx)
{
	struct packet packet = {};

	if (packet_parse(ctx, &packet) != REASON_NONE || packet.kind != PACKET_FLOW)
		return FAILED;
	return CTX_PASS;
}

/*
 * Parses, and reads one cache line of 64 MB at random: what memory takes on this machine at this moment. A
 * lookup among a million sessions cannot be faster than a few of these.
 */
struct benchmark_line {
	__u64 word[8];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct benchmark_line);
	__uint(max_entries, 1 << 20);
} benchmark_memory SEC(".maps");

SEC(CTX_SECTION)
int benchmark_miss(ctx_t *ctx)
{
	struct packet packet = {};
	struct benchmark_line *line;
	__u32 number;

	if (packet_parse(ctx, &packet) != REASON_NONE || packet.kind != PACKET_FLOW)
		return FAILED;
	number = ((__u64)packet.tuple.source << 32 ^ packet.tuple.destination ^ (__u64)packet.tuple.source_port << 48) *
			 0x9fb21c651e98df25ULL >>
		 44;
	line = bpf_map_lookup_elem(&benchmark_memory, &number);
	return line && line->word[0] == 0 ? CTX_PASS : FAILED;
}

char _license[] SEC("license") = "Dual BSD/GPL";
