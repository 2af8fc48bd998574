/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the gateway and its own functions know of a packet beside what functions of users' own see (bpf/nf/nf.h).
 */
#pragma once

#include <linux/types.h>

/* What dnat says beside its verdict, and what the programs tell each other. */
#define NF_PACKET_ENGINE                                                                                              \
	__u32 to_address; /* a private host's, where the flow goes; 0: none was said */                               \
	__u16 to_port;	  /* 0: the flow's own */                                                                     \
	__u8 changed;	  /* enum nf_changed */                                                                       \
	__u8 hook;	  /* enum nf_hook */                                                                          \
	__u32 function;	  /* the one that decided, 0 where none did */                                                \
	__u32 verdict;                                                                                                \
	__u32 generation;                                                                                             \
	__u32 program;	      /* of the chain that is asked, 0 for the classifier */                                  \
	__u32 packet_program; /* that checks the flow's further packets, 0 for none */                                \
	__u8 remote;	      /* enum remote_mark: what the function "allowlist" found */                             \
	__u8 ports;	      /* enum port_mark: what the function "ports" found */                                   \
	__u8 honeypot;	      /* enum nf_honeypot */                                                                  \
	__u8 payload;	      /* enum nf_payload */                                                                   \
	__u32 at_address; /* where an open flow goes by now, by a chain's word (multipath); 0: it goes nowhere yet */ \
	__u16 at_port;                                                                                                \
	__u16 public_port; /* that the flow came to: of a name's service it may be another than destination_port */   \
	__u32 run;	   /* the number of the dry run, 0: none of the gateway */

#define NF_READ_ONLY

#include "../nf/nf.h"

/* What has become of the packet in a function of a user's own. */
enum nf_changed {
	NF_UNCHANGED,
	NF_MAY_BE_CHANGED, /* one was asked that may rewrite */
	NF_BROKEN,	   /* one changed what it said that it would not: the packet is dropped */
	NF_HELD,	   /* it is dropped, and comes again: one asks a program what becomes of it (ask) */
};

/* Where functions are asked, and what they have to say. */
enum nf_hook {
	NF_HOOK_FLOW = 1, /* whether the flow may pass: all of the chain */
	NF_HOOK_PACKET,	  /* whether a packet of it may: those that see every packet */
	NF_HOOK_DNAT,	  /* whether it may, and where to (dnat): all of the chain; destination is as it came */
	NF_HOOK_INPUT,	  /* whether a packet may that is for the gateway itself, or for nobody: the protection alone */
};

/* What the honeypot has to do with a packet. */
enum nf_honeypot {
	NF_HONEYPOT_NONE,
	NF_HONEYPOT_EXEMPT, /* a host inside has opened the port */
	NF_HONEYPOT_HIT,
};

/* Whether the first bytes of the flow's payload have come: what only functions want to know that judge these. */
enum nf_payload {
	NF_PAYLOAD_NONE,
	NF_PAYLOAD_FIRST, /* with this packet */
	NF_PAYLOAD_DONE,  /* before, or nobody waited for it: it is not checked any more */
};

/* What a function of a chain did. Its number stays the same as long as chain and function have their names. */
struct nf_count {
	__u64 seen;
	__u64 accepted; /* it decided */
	__u64 dropped;
	__u64 failed;
	__u64 samples; /* times it was timed */
	__u64 ns;      /* all of them together */
	__u64 lost;    /* copies for who captures that found no room; of number 0 none ever: chains take a 0 from it */
};

#define NF_COUNTS 512

/* By the numbers of functions; 0 is none. All are one value, so that a chain looks for them once. */
struct nf_counters {
	struct nf_count of[NF_COUNTS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, struct nf_counters);
	__uint(max_entries, 1);
} nf_counts SEC(".maps");

static __always_inline struct nf_count *nf_count(__u32 function)
{
	__u32 zero = 0;
	struct nf_counters *all = bpf_map_lookup_elem(&nf_counts, &zero);

	return all ? &all->of[function & (NF_COUNTS - 1)] : 0;
}
