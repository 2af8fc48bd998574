/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a network function sees of a packet, and what it may say about it; for those of users, too, see
 * docs/guide/own-function.md. A function is an XDP program: it reads nf_packet(), and returns an enum nf_verdict.
 */
#pragma once

#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

enum nf_verdict {
	NF_CONTINUE, /* the next function says */
	NF_ACCEPT,   /* no other function is asked */
	NF_DROP,
	NF_TO_USER,   /* as NF_CONTINUE, and whoever captures gets a copy */
	NF_FAIL,      /* it cannot say: its place in the chain tells whether that is NF_CONTINUE or NF_DROP */
	NF_JUMP = 16, /* and up: the first, second, ... of the chains that it may go on in */
};

enum nf_direction {
	NF_OUT = 1, /* of a flow that a private host began */
	NF_IN = 2,
};

/* What the functions that are asked have to say. */
enum nf_stage {
	NF_FLOW = 1, /* whether the flow may pass: all of the chain */
	NF_PACKET,   /* whether a packet of it may: those that see every packet */
	NF_STATIC,   /* whether it may, and where to (dnat): all of the chain; destination is as it came */
	NF_STRAY,    /* whether a packet may that is for the gateway itself, or for nobody: the protection alone */
};

/* What the honeypot has to do with a packet. */
enum nf_trap {
	NF_TRAP_NONE,
	NF_TRAP_NEVER, /* a host inside has opened the port */
	NF_TRAP_SPRUNG,
};

/* Whether the flow's first bytes have come: what only functions want to know that judge these. */
enum nf_spoke {
	NF_SILENT,
	NF_SPEAKS,     /* with this packet */
	NF_HAS_SPOKEN, /* before, or nobody waited for it: it is not judged any more */
};

/* A packet by the flow that it belongs to. Addresses and ports are in network byte order. */
struct nf_packet {
	__u32 source;	   /* of the flow's first packet; a private host's is the host's own */
	__u32 destination; /* the same */
	__u16 source_port;
	__u16 destination_port;
	__u8 protocol;
	__u8 direction; /* enum nf_direction */
	__u8 answers;	/* this packet goes the other way */
	__u8 opens;	/* it has no session yet */
	__u8 tcp_flags; /* of this packet, 0 where it has none */
	__u8 dry;     /* nobody sent it, a user wants it explained: look at what is remembered, and leave it as it is */
	__u16 length; /* of the IP packet, bytes */

	/* Where the flow goes: what dnat says beside its verdict. */
	__u32 to_address; /* a private host's; 0: none was said */
	__u16 to_port;	  /* 0: the flow's own */

	/* What the programs tell each other; functions leave it alone. */
	__u8 changed;	/* a function that may rewrite was asked */
	__u8 stage;	/* enum nf_stage */
	__u32 function; /* the one that decided, 0 where none did */
	__u32 verdict;
	__u32 generation;
	__u32 asked;	  /* the program that is asked, 0 for the classifier */
	__u32 packets;	  /* the program that the flow's further packets are to be judged by, 0 for none */
	__u8 remote;	  /* enum remote_mark: what the function "allowlist" found */
	__u8 ports;	  /* enum port_mark: what the function "ports" found */
	__u8 trap;	  /* enum nf_trap */
	__u8 spoke;	  /* enum nf_spoke */
	__u32 at_address; /* where an open flow goes by now, by a chain's word (multipath); 0: it goes nowhere yet */
	__u16 at_port;
	__u16 public_port; /* that the flow came to: of a name's service it may be another than destination_port */
	__u8 fragment; /* enum fragment: this packet is the first of several, or one of the others, which has no ports */
	__u32 segments; /* packets that the frame is on the wire: 1, but of an aggregate (GSO, GRO) */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, struct nf_packet);
	__uint(max_entries, 1);
} nf_packets SEC(".maps");

/* What a function of a chain did. Its number stays the same as long as chain and function have their names. */
struct nf_count {
	__u64 seen;
	__u64 accepted; /* it decided */
	__u64 dropped;
	__u64 failed;
	__u64 samples; /* times it was timed */
	__u64 ns;      /* all of them together */
	__u64 lost;    /* copies for who captures that found no room */
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

static __always_inline struct nf_packet *nf_packet(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&nf_packets, &zero);
}

static __always_inline struct nf_count *nf_count(__u32 function)
{
	__u32 zero = 0;
	struct nf_counters *all = bpf_map_lookup_elem(&nf_counts, &zero);

	return all ? &all->of[function & (NF_COUNTS - 1)] : 0;
}
