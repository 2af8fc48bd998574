// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The functions "allowlist", "blocklist" and "geofence", which are asked before the chain of a flow and in this order.
 * What they know of all addresses is one table: the first looks for the flow's remote address, the others only at what
 * it found. What is on the allowlist they leave alone.
 */
#include <stdbool.h>

#include "../include/remote.h"

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

	if (!packet)
		return NF_DROP;
	return remote_find(packet, &packet->remote) ? NF_CONTINUE : NF_FAIL;
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
