/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs that are entered by tail call. What is to be judged is shown to the classifier of its generation, which
 * enters the chain, or to the only chain of its direction; both end where the gateway's program has asked.
 */
#pragma once

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "ctx.h"

enum program {
	PROGRAM_PRIVATE, /* from bare.h */
	PROGRAM_PUBLIC,
	PROGRAM_HAIRPIN,
	PROGRAM_QUESTION,	 /* to the name server */
	PROGRAM_FRAGMENT,	 /* that is not the first of its packet */
	PROGRAM_WEB,		 /* to a web address, of no session yet */
	PROGRAM_HOST,		 /* what a host says to the SYN of one */
	PROGRAM_OVERFLOW,	 /* TCP to the pool, where a binding answers by cookies */
	PROGRAM_DATAGRAM,	 /* UDP to a web address, of no session yet */
	PROGRAM_EDGE_OUT,	 /* to a proxy address */
	PROGRAM_EDGE_IN,	 /* of the tunnel from another edge */
	PROGRAM_CLASSIFIER_EVEN, /* of the even generations */
	PROGRAM_CLASSIFIER_ODD,
	PROGRAM_DNAT_EVEN, /* classifiers of the chains that say where flows go */
	PROGRAM_DNAT_ODD,
	PROGRAM_PROTECTION6_EVEN, /* of what IPv6 passes */
	PROGRAM_PROTECTION6_ODD,
	PROGRAM_MAX,
};

#define CHAIN_BITS 11
#define CHAINS	   (1 << CHAIN_BITS) /* programs of two generations' chains; number 0 is none */

/*
 * The policy word of a session, chain.h, has a program's number in its low bits. The functions of such a program wait
 * for the first bytes of the flow; POLICY_PAYLOAD_DONE, in what a program says, is that it has checked them and no other follows.
 */
#define POLICY_BITS (CHAIN_BITS + 1)
#define POLICY_MASK ((1 << POLICY_BITS) - 1)

enum policy_flag {
	POLICY_AWAITS_PAYLOAD = CHAINS,
	POLICY_PAYLOAD_DONE = 1 << POLICY_BITS,
};

/* What judges flows of a direction, beside the programs of chains. */
enum entry {
	ENTRY_NONE,
	ENTRY_CLASSIFIER = CHAINS,
};

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, CHAINS);
	__type(key, __u32);
	__type(value, __u32);
} chains SEC(".maps");
