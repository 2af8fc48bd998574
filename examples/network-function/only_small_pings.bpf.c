// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Lets through pings of up to 128 bytes, and counts those that are longer. */
#include <linux/in.h>
#include <nf.h>

#define MOST 128 /* bytes of the IP packet */

__u64 too_long; /* bpftool map dump name .bss */

SEC("xdp")
int only_small_pings(struct xdp_md *ctx)
{
	const struct nf_packet *packet = nf_packet();

	if (!packet)
		return NF_FAIL;
	if (packet->protocol != IPPROTO_ICMP || packet->length <= MOST)
		return NF_CONTINUE;
	if (!packet->dry)
		__sync_fetch_and_add(&too_long, 1);
	return NF_DROP;
}

char _license[] SEC("license") = "Dual BSD/GPL";
