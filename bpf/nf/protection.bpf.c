// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The functions "allowlist", "blocklist" and "geofence", which are asked before the chain of a flow and in this order.
 * What they know of all addresses is one table: the first looks for the flow's remote address, the others only at what
 * it found. What is on the allowlist they leave alone.
 */
#include <stdbool.h>

#include "../include/rules.h"

/* What holds of an address. A class of the table is what holds of flows from outside, and of those from inside. */
enum remote_mark { REMOTE_ALLOWED = 1, REMOTE_BLOCKED = 2, REMOTE_FENCED = 4, REMOTE_MARKS = 8 /* bits a direction */ };

static __always_inline enum nf_verdict remote_drop(enum remote_mark mark)
{
	struct nf_packet *packet = nf_packet();

	if (!packet)
		return NF_DROP;
	return (packet->remote & (mark | REMOTE_ALLOWED)) == mark ? NF_DROP : NF_CONTINUE;
}

SEC("xdp")
int nf_allowlist(struct xdp_md *ctx)
{
	struct nf_packet *packet = nf_packet();
	const struct rules_head *head = rules_cell(0);
	struct rules_held held;
	__u32 marks;

	if (!packet || !head)
		return NF_DROP;
	if (!rules_hold(&head->source, bpf_ntohl(packet->direction == NF_IN ? packet->source : packet->destination),
			&held))
		return NF_FAIL;
	marks = RULES_AT(__u64, &held, 0);
	packet->remote = packet->direction == NF_IN ? marks : marks >> REMOTE_MARKS;
	return NF_CONTINUE;
}

SEC("xdp")
int nf_blocklist(struct xdp_md *ctx)
{
	return remote_drop(REMOTE_BLOCKED);
}

SEC("xdp")
int nf_geofence(struct xdp_md *ctx)
{
	return remote_drop(REMOTE_FENCED);
}

/* For Go. */
const enum remote_mark *exported __attribute__((unused));

char _license[] SEC("license") = "Dual BSD/GPL";
