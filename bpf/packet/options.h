/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * IPv4 options. Who sends by a route of its own choice goes around what decides here (RFC 7126 §4.3 and §4.4);
 * options that contradict their lengths are malformed; all others pass as they are.
 */
#pragma once

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <bpf/bpf_helpers.h>

#include "../include/ctx.h"
#include "../include/reason.h"

#define OPTIONS_MOST	    40
#define OPTION_END	    0
#define OPTION_NOP	    1
#define OPTION_LOOSE_ROUTE  131
#define OPTION_STRICT_ROUTE 137

struct options {
	__u32 at;
	__u32 length;
	enum reason reason;
	__u8 octet[OPTIONS_MOST];
};

static long options_step(__u32 round, struct options *options)
{
	__u32 at = options->at;
	__u8 kind, length;

	if (at >= options->length || at >= OPTIONS_MOST - 1)
		return 1;
	kind = options->octet[at];
	length = options->octet[at + 1];
	if (kind == OPTION_END)
		return 1;
	if (kind == OPTION_NOP) {
		options->at = at + 1;
		return 0;
	}
	if (kind == OPTION_LOOSE_ROUTE || kind == OPTION_STRICT_ROUTE)
		options->reason = REASON_DROP_SOURCE_ROUTE;
	else if (length < 2 || at + length > options->length)
		options->reason = REASON_DROP_MALFORMED;
	options->at = at + length;
	return options->reason != REASON_NONE;
}

/* REASON_NONE when the options, length octets of them, may pass. */
__noinline enum reason options_judge(ctx_t *ctx, __u32 length)
{
	struct options options = {.length = length};

	if (length == 0 || length > OPTIONS_MOST ||
	    ctx_load(ctx, ETH_HLEN + sizeof(struct iphdr), options.octet, length))
		return REASON_DROP_MALFORMED;
	bpf_loop(OPTIONS_MOST, options_step, &options, 0);
	return options.reason;
}
