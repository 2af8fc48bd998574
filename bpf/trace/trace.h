/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a dry run leaves for who explains: its steps in their order. The programs write the most of them, dry.h, and the
 * chains' programs what functions say (internal/nf/assembler.go).
 */
#pragma once

#include <linux/types.h>

enum trace_kind {
	TRACE_FIND = 1,	 /* its session was looked for; says: there is one */
	TRACE_BAN,	 /* says: address is banned */
	TRACE_MAPPING,	 /* address and port have the outbound port */
	TRACE_HOST,	 /* address and port have the public address alone */
	TRACE_BINDING,	 /* address and port are what the bound port stands for; number: the name's */
	TRACE_ASK,	 /* chains are asked; says: enum nf_hook; number 0: there is none */
	TRACE_CHAIN,	 /* number: its place, from 1 on */
	TRACE_FUNCTION,	 /* number: its own; says: what it said, a verdict of nf.h */
	TRACE_DNAT,	 /* address and port that chains send it to; 0: none */
	TRACE_FILTERING, /* says: enum reason */
	TRACE_KNOWN,	 /* its client is known to the binding; number: of its sessions that stand */
	TRACE_CLAIM,	 /* address has asked; number: claims that are left by that */
	TRACE_LIMIT,	 /* address has as many as it may, number; says: enum reason */
	TRACE_NAT,	 /* it leaves as address and port */
	TRACE_HAIRPIN,	 /* it comes in again, from address and port */
	TRACE_MTU,	 /* number: the least on its way, in octets; says: that is where it came from */
	TRACE_MSS,	 /* number: the most that its SYN may say, in octets */
	TRACE_COOKIE,	 /* names are read there: says: a SYN is answered by a cookie, else a datagram is held */
	TRACE_OVERFLOW,	 /* its binding has no room for unproved clients: a SYN is answered by a cookie */
	TRACE_PACT,	 /* address is a pact's proxy address; number: of the pact, 0 for none; says: enum pact_flag */
	TRACE_LINK,	 /* number: of its link, 0 for none; says: the most that an inner packet may have, octets */
	TRACE_END,	 /* says: enum reason */
};

struct trace_step {
	__u16 kind; /* enum trace_kind */
	__u16 port; /* in network byte order */
	__u32 says;
	__u32 address;
	__u32 number;
};

enum trace_limit {
	TRACE_STEPS = 1024, /* a power of two; what comes after them is counted only */
};

struct trace {
	__u32 count;
	/*
	 * What the daemon asks for: a first packet to the pool as if a name had just been lent to its client, or to the web as
	 * if its client had said it.
	 */
	__u32 lent_host; /* 0: nothing was */
	__u16 lent_port;
	__u8 lent_whole; /* the host opens everything */
	__u8 spare;
	__u32 run; /* the number of this dry run */
	struct trace_step step[TRACE_STEPS];
};
