/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a network function sees of a packet, and what it may say about it: all that a function of a user's own needs, see
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

/* Whether a packet is a whole one. */
enum nf_fragment {
	NF_WHOLE,
	NF_FIRST_FRAGMENT,
	NF_LATER_FRAGMENT, /* it has no ports in its frame */
};

/* What only the gateway and its own functions have of it stands behind (bpf/include/nf.h). */
#ifndef NF_PACKET_ENGINE
#define NF_PACKET_ENGINE
#define NF_READ_ONLY const
#endif

/* A packet by the flow that it belongs to. Addresses and ports are in network byte order. Functions leave it as it is. */
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
	__u32 segments; /* packets that the frame is on the wire: 1, but of an aggregate (GSO, GRO) */
	__u8 fragment;	/* enum nf_fragment */
	/* It is an ICMP error about the flow, by whoever saw a packet of it. Answer about the flow where that is asked. */
	__u8 error;
	/* Of TCP, behind both SYNs: it acknowledges, so its sender has seen what the other end sent. 0 says nothing. */
	__u8 proves;
	__u8 mark; /* what the program of a function "ask" before this one has said, 0: nothing */
	NF_PACKET_ENGINE
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, struct nf_packet);
	__uint(max_entries, 1);
} nf_packets SEC(".maps");

static __always_inline NF_READ_ONLY struct nf_packet *nf_packet(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&nf_packets, &zero);
}
