// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Which chain judges a packet: the first whose conditions it meets, and none where it meets none. There is one
 * classifier for each generation, with tables of its own. XDP_ABORTED: the chain is not there.
 */
#include <stdbool.h>

#include "include/rules.h"
#include "include/tail.h"

SEC("xdp")
int classifier(struct xdp_md *ctx)
{
	struct nf_packet *packet = nf_packet();
	struct rules_found found = {};

	if (!packet)
		return XDP_ABORTED;
	if (rules_match(packet, &found)) {
		bpf_tail_call(ctx, &chains, found.value);
		return XDP_ABORTED;
	}
	packet->verdict = NF_ACCEPT;
	return XDP_PASS;
}

/* Types that Go needs and no map names: a mention keeps them in the object's type information. */
struct exported {
	enum nf_verdict verdict;
	enum nf_direction direction;
	struct nf_count count;
	enum rules_limit limit;
	struct rules_head head;
	struct rules_shape_cell shapes;
	struct rules_range_cell ranges;
	struct rules_turn_cell turns;
	struct rules_more_cell more;
	struct rules_rule_cell rules;
	enum entry entry;
	enum nf_stage stage;
	enum nf_trap trap;
	enum judged judged;
};
const struct exported *exported __attribute__((unused));

char _license[] SEC("license") = "Dual BSD/GPL";
