// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What functions are made of that go by rules: says the value of the first rule that matches, a verdict.
 */

//go:build ignore

#include <stdbool.h>

#include "rules.h"

static __always_inline int matching(const bool source_ports)
{
	struct nf_packet *packet = nf_packet();
	struct rules_found found = {.value = NF_CONTINUE};

	if (!packet)
		return NF_DROP;
	rules_match(packet, &found, source_ports);
	return found.value;
}

SEC("xdp")
int nf_matching(struct xdp_md *ctx)
{
	return matching(false);
}

/* Where a rule asks for a source port. */
SEC("xdp")
int nf_matching_ports(struct xdp_md *ctx)
{
	return matching(true);
}

char _license[] SEC("license") = "Dual BSD/GPL";
