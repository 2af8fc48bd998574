/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is known of remote addresses, in a table of rules.h of which only the first dimension is there: a class is what
 * holds of an address of flows from outside, and of flows from inside.
 */
#pragma once

#include "../include/rules.h"

enum remote_mark {
	REMOTE_ALLOWED = 1,
	REMOTE_BLOCKED = 2,
	REMOTE_FENCED = 4,
	REMOTE_MARKS = 8, /* bits that a direction has */
};

/* False where there is no such table. */
static __always_inline bool remote_find(const struct nf_packet *packet, __u8 *marks)
{
	const struct rules_head *head = rules_node(0);
	__u32 remote = packet->direction == NF_IN ? packet->source : packet->destination;
	struct rules_held held;

	if (!head || !rules_hold(&head->source, bpf_ntohl(remote), &held))
		return false;
	*marks = RULES_AT(__u64, &held, 0) >> (packet->direction == NF_IN ? 0 : REMOTE_MARKS);
	return true;
}
