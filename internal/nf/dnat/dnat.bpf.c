// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The function "dnat": says where the flow goes, and leaves the decision to the next one, which sees it as it came.
 */

//go:build ignore

#include <linux/in.h>
#include <stdbool.h>

#include "nf.h"

struct dnat_target {
	__u32 address;
	__u16 port; /* 0: the flow's own */
	__u16 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct dnat_target);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_RDONLY_PROG);
} dnat_targets SEC(".maps");

SEC("xdp")
int nf_dnat(struct xdp_md *ctx)
{
	struct nf_packet *packet = nf_packet();
	const struct dnat_target *target;
	__u32 zero = 0;

	target = bpf_map_lookup_elem(&dnat_targets, &zero);
	if (!packet || !target)
		return NF_FAIL;
	packet->to_address = target->address;
	packet->to_port = packet->protocol == IPPROTO_TCP || packet->protocol == IPPROTO_UDP ? target->port : 0;
	return NF_CONTINUE;
}

char _license[] SEC("license") = "Dual BSD/GPL";
