/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pacts and links, which the daemon makes and packets between edges go by. A pact is what two edges have agreed on for a host
 * inside and a name behind the other edge; a link is that edge. Tags are in host byte order here, and big-endian in a frame.
 */
#pragma once

#include <linux/types.h>

#define PACT_NUMBERS	0x10000 /* a number is the low half of a tag; 0 is none */
#define LINK_NUMBERS	0x1000	/* the low 12 bits of a VNI; 0 is none */
#define PACT_SERVICES	4
#define PROXY_ADDRESSES 0x10000 /* of a prefix of 16 bits */
#define PROXY_GROUP	4	/* proxy addresses side by side, in one element of proxy_table */
#define EPOCH_NONE	0xff	/* no key; epochs have 7 bits */
#define EDGE_HEADER	48	/* octets in front of an inner packet: IPv4, UDP, GENEVE and an option */

enum pact_flag {
	PACT_OUT = 0x01,   /* its host may open flows */
	PACT_IN = 0x02,	   /* who is behind the other edge may */
	PACT_PING = 0x04,  /* the host answers pings */
	PACT_WHOLE = 0x08, /* the host opens every port */
};

/* One cache line. Written by the daemon's programs alone (task.h), but for used. */
struct pact {
	__u32 own_tag;	/* number in the low half; 0: free. Written last, cleared first */
	__u32 peer_tag; /* the other edge's */
	__u32 host;	/* private address */
	__u32 proxy;	/* what stands for the remote host */
	__u32 until;	/* tick: the lease ends */
	__u32 used;	/* tick of the last packet, either way; 0: none yet */
	__u16 link;	/* number */
	__u8 flags;	/* enum pact_flag */
	__u8 services;	/* of the three arrays below that are filled */
	__u8 protocol[PACT_SERVICES];
	__u16 port[PACT_SERVICES]; /* as the other edge says it; 0 with ICMP; like the next, written at once */
	__u16 to[PACT_SERVICES];   /* the host's own */
	__u16 delta;		   /* checksum difference: host, proxy address -> own tag, peer's */
	__u16 rate; /* new sessions that the other edge may open in a second, at most TALLY_RATE_MAX; 0: any */
	__u16 most; /* sessions of the other edge's that may stand; 0: any */
	__u8 spare[10];
};

enum link_state {
	LINK_UP = 1,
	LINK_BANNED = 2,
};

/* Three cache lines; what a packet out needs is in the first two. */
struct link {
	__u32 vni_here; /* what the other edge writes, host byte order: number in the low 12 bits; 0: free. Written last, cleared first */
	__u32 local; /* locators */
	__u32 remote;
	__u16 mtu; /* inner most, octets */
	__u16 spare;
	__u16 next_hop; /* number, by route_epoch */
	__u16 route_epoch;
	__u8 state;	       /* enum link_state */
	__u8 send_epoch;       /* EPOCH_NONE: there is no key yet */
	__u8 receive_epoch[2]; /* by epoch & 1; EPOCH_NONE: none */
	__u64 send_key[2][2];  /* by epoch & 1 */
	/* As header.h says; to be filled in: TOS, lengths, source port, epoch, authenticator. The checksum is that of a length and a TOS of 0. */
	__u8 header[EDGE_HEADER];
	__u64 receive_key[2][2]; /* by epoch & 1 */
	__u32 heard;		 /* tick of the last good packet; 0: none yet */
	__u32 pad[13];
};

struct link_count {
	__u64 packets[2]; /* out, in */
	__u64 octets[2];  /* of inner packets */
	__u64 refused;	  /* that came by its VNI, and were not let in */
};

struct proxy_places {
	__u16 pact[PROXY_GROUP]; /* numbers; 0: none */
};

/* What the daemon asks of the programs in task.h; error: 0, or a negative one. */
struct pact_request {
	struct pact pact;
	__u32 number;
	__s32 error;
};

struct link_request {
	struct link link;
	__u64 key[2];
	__u32 number;
	__s32 error;
	__u8 out; /* the key is to send with */
	__u8 epoch;
	__u8 pad[6];
};
