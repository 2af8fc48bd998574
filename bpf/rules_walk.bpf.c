// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Asks rules about one flow of a list after the other, a flow each time that it runs: for the tests of rules.h and for
 * its benchmarks. rules_idle does all of it but the asking.
 */
#include <stdbool.h>

#include "guard/remote6.h"

struct walk_flow {
	__u32 source; /* as in struct nf_packet */
	__u32 destination;
	__u16 destination_port;
	__u8 protocol;
	__u8 direction;
	__u16 source_port;
	__u16 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct walk_flow);
	__uint(max_entries, 1);
} walk_flows SEC(".maps");

struct walk_state {
	__u32 next;  /* flow */
	__u32 flows; /* how many there are */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct walk_state);
	__uint(max_entries, 1);
} walk_states SEC(".maps");

static __always_inline bool next_flow(struct nf_packet *packet)
{
	__u32 zero = 0, number;
	struct walk_state *state = bpf_map_lookup_elem(&walk_states, &zero);
	struct walk_flow *flow;

	if (!state)
		return false;
	number = state->next;
	state->next = number + 1 < state->flows ? number + 1 : 0;
	flow = bpf_map_lookup_elem(&walk_flows, &number);
	if (!flow)
		return false;
	packet->source = flow->source;
	packet->destination = flow->destination;
	packet->source_port = flow->source_port;
	packet->destination_port = flow->destination_port;
	packet->protocol = flow->protocol;
	packet->direction = flow->direction;
	return true;
}

/* The rule that it found, from 1; 0 is none. */
static __always_inline int walk_rules(const bool source_ports)
{
	struct nf_packet packet = {};
	struct rules_found found = {};

	if (!next_flow(&packet))
		return -1;
	return rules_match(&packet, &found, source_ports) ? found.rule + 1 : 0;
}

SEC("xdp")
int rules_walk(struct xdp_md *ctx)
{
	return walk_rules(false);
}

/* Where a rule asks for a source port. */
SEC("xdp")
int rules_ports_walk(struct xdp_md *ctx)
{
	return walk_rules(true);
}

/* What is known of its remote address. */
SEC("xdp")
int remote_walk(struct xdp_md *ctx)
{
	struct nf_packet packet = {};
	__u8 marks;

	if (!next_flow(&packet) || !remote_find(&packet, &marks))
		return -1;
	return marks;
}

/* The same of an IPv6 address, of which a flow's IPv4 addresses are the first half. */
SEC("xdp")
int remote6_walk(struct xdp_md *ctx)
{
	struct nf_packet packet = {};
	__u32 marks;

	if (!next_flow(&packet) ||
	    !remote6_find((__u64)bpf_ntohl(packet.source) << 32 | bpf_ntohl(packet.destination), 0, &marks))
		return -1;
	return marks;
}

SEC("xdp")
int rules_idle(struct xdp_md *ctx)
{
	struct nf_packet packet = {};

	if (!next_flow(&packet))
		return -1;
	barrier_var(packet.source);
	barrier_var(packet.destination);
	return 0;
}

char _license[] SEC("license") = "Dual BSD/GPL";
