// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Which chain judges a packet: the first whose conditions it meets, and none where it meets none. There is one
 * classifier for each generation, with tables of its own. SAID_NOTHING: the chain is not there.
 */
#include <stdbool.h>

#include "include/rules.h"
#include "include/tail.h"
#include "trace/trace.h"

static __always_inline int classify(ctx_t *ctx, const bool source_ports)
{
	struct nf_packet *packet = nf_packet();
	struct rules_found found = {};

	if (!packet)
		return SAID_NOTHING;
	if (rules_match(packet, &found, source_ports)) {
		bpf_tail_call(ctx, &chains, found.value);
		return SAID_NOTHING;
	}
	packet->verdict = NF_ACCEPT;
	return SAID_PASS;
}

SEC(CTX_SECTION)
int classifier(ctx_t *ctx)
{
	return classify(ctx, false);
}

/* Where a rule asks for a source port. */
SEC(CTX_SECTION)
int classifier_ports(ctx_t *ctx)
{
	return classify(ctx, true);
}

/* Types that Go needs and no map names: a mention keeps them in the object's type information. */
struct exported {
	enum nf_verdict verdict;
	enum nf_direction direction;
	struct nf_count count;
	enum rules_limit limit;
	struct rules_head head;
	struct rules_dimension_node dimension;
	struct rules_mask_node masks;
	struct rules_range_node ranges;
	struct rules_alternating_node alternating;
	struct rules_inner_node inner;
	struct rules_rule_node rules;
	enum entry entry;
	enum nf_hook hook;
	enum nf_honeypot honeypot;
	enum nf_changed changed;
	enum policy_flag policy_flag;
	enum trace_kind trace_kind;
	enum trace_limit trace_limit;
	struct trace trace;
};
const struct exported *exported __attribute__((unused));

char _license[] SEC("license") = "Dual BSD/GPL";
