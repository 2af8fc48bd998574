// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The function "filter": drops what its rules deny and, where it has rules that allow, what none of them allows. The
 * values of the rules are verdicts; the last one matches all.
 */
#include <stdbool.h>

#include "../include/rules.h"

SEC("xdp")
int nf_filter(struct xdp_md *ctx)
{
	struct nf_packet *packet = nf_packet();
	struct rules_found found = {.value = NF_CONTINUE};

	if (!packet)
		return NF_DROP;
	rules_match(packet, &found);
	return found.value;
}

char _license[] SEC("license") = "Dual BSD/GPL";
