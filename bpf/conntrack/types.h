/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A session's record, and the words it is made of. */
#pragma once

#include <linux/types.h>

enum phase {
	PHASE_FREE,
	PHASE_LIVE,
	PHASE_REFERENCED,  /* session: ended, but other sessions refer to its filter entry */
	PHASE_RESTING,	   /* ended; not used again for REST ticks */
	PHASE_QUARANTINED, /* mapping: no session left, the port waits (RFC 6888 REQ-8) */
};

enum origin {
	/* From inside. */
	ORIGIN_INSIDE,	 /* opened through a mapping */
	ORIGIN_OWN,	 /* by an address that is the host's own outside, too: its port stays */
	ORIGIN_BASIC,	 /* of a protocol that is translated by address alone, basic.h */
	ORIGIN_EDGE_OUT, /* to a proxy address, by a pact */
	/* From outside. */
	ORIGIN_MAPPING, /* opened through a mapping that let it in */
	ORIGIN_POOL,	/* by a claim of a binding */
	ORIGIN_DNAT,	/* a chain said where to (dnat) */
	ORIGIN_OWN_IN,	/* to an address that is the host's own */
	ORIGIN_EDGE_IN, /* from a proxy address, by a pact: from behind another edge */
	ORIGIN_WEB,	/* to a web address, by the name that it asked for */
	ORIGIN_COOKIE,	/* from the pool as well, by a cookie, as its binding had no room for unproved sessions */
};

#define SESSION_HAIRPIN	     0x01 /* the remote end is behind this gateway too */
#define SESSION_FILTER_OWNER 0x02 /* its filter or guest entry stands for all sessions to the same remote address */
#define SESSION_WHOLE_HOST   0x04 /* from the pool: every port of the host is open */
#define SESSION_TENTATIVE    0x08 /* its client has proved nothing yet (pool), or its host has not answered (others) */
#define SESSION_ANSWERED     0x10 /* from outside, no TCP, or translated by address alone: the other end has answered */
#define SESSION_SETTLED	     0x20 /* its client is known or not (from the pool), or came again when answered (web, UDP) */
#define SESSION_KNOWN	     0x40 /* from the pool: it counts among its known client's */
#define SESSION_COUNTED	     0x80 /* it counts with who opened it: a subscriber, or a remote address while it stands */

enum tcp_state {
	TCP_NONE,
	TCP_SYN,      /* opener's SYN seen */
	TCP_SYN_BOTH, /* the other side answered, or both opened at once */
	TCP_ESTABLISHED,
	TCP_FIN_OUT,
	TCP_FIN_IN,
	TCP_FIN_BOTH,
	TCP_RST,
	TCP_ORDERED, /* established, by name: its first data go to its host in their order, handshake/order.h */
};

/* The word of a session that changes while it lives; the TCP state by compare-and-swap of the whole. */
union life {
	struct {
		__u32 stamp; /* tick of the last packet that refreshed it */
		__u8 phase;
		__u8 tcp;
		__u16 version; /* counts the uses of this record: SWEEP_END ends only the one that is meant */
	} as;
	__u64 word;
};

/* Another one, of which each part changes by itself: flags and overflow by an atomic operation on the whole. */
union marks {
	struct {
		__u16 route_epoch; /* of the next hops */
		__u8 flags;
		__u8 overflow; /* of the bucket that this record begins: its sessions that stand elsewhere, see record_bucket.h */
	} as;
	__u32 word;
};

/* The upper half of each direction's last sequence number, in network byte order, conntrack/sequence.h. */
struct guard {
	__u16 out;
	__u16 in;
};

/* What a session holds, by its origin. */
union holds {
	struct {
		__u32 binding;	/* its slot, which nobody else gets while the session's record names it */
		__u32 service;	/* the number of the name that it was asked for by, 0 for none */
		__u32 expected; /* tentative: the host's first number and 1, the least that proves its client */
	} pool;			/* ORIGIN_POOL */
	struct {
		__u32 slot;	   /* of its mapping */
		__u32 filter;	   /* session that owns the filter entry, may be itself */
		__u32 filter_refs; /* sessions that refer to this one's filter entry, itself included */
	} mapping;		   /* ORIGIN_INSIDE, ORIGIN_MAPPING */
	struct {
		__u32 number;	 /* our first one, the cookie */
		__u32 begun;	 /* its client's first one */
		__u32 name : 24; /* number of the name that it asked for, ORIGIN_WEB */
		__u32 client_scale : 4;
		__u32 timestamps : 1; /* its client has sent some */
		__u32 spare : 3;
	} offered; /* ORIGIN_WEB, ORIGIN_COOKIE, tentative: its host has not answered yet */
	struct {
		__u32 difference;	/* to its client, of the host's sequence numbers */
		__u32 clock;		/* and of its timestamps */
		__u32 name : 24;	/* as above */
		__u32 client_scale : 4; /* of windows, HANDSHAKE_NONE: none */
		__u32 host_scale : 4;
	} web; /* ORIGIN_WEB, ORIGIN_COOKIE */
	struct {
		__u32 as_above[2];
		__u32 binding : 24; /* its slot, where one by name has that */
		__u32 scales : 8;   /* as above */
	} cookie;		    /* ORIGIN_COOKIE, tentative or not */
	struct {
		__u32 owner;	 /* session that owns the guest entry, may be itself; 0: there was no room for one */
		__u32 guests;	 /* sessions that refer to this one's guest entry, itself included */
		__u32 name : 24; /* as above */
		__u32 begun : 8; /* tick of the Initial that its connection began with, the lowest octet */
	} guest;		 /* ORIGIN_WEB, UDP: conntrack/guest.h */
	struct {
		__u32 tag;	/* of its pact, ours: number in the low half */
		__u32 peer_tag; /* the other edge's */
		__u32 spare;
	} edge; /* ORIGIN_EDGE_OUT, ORIGIN_EDGE_IN */
};

/* By which TCP tells whom to believe, SESSION_TENTATIVE says which; and QUIC which connection is meant. */
union proof {
	struct guard guard; /* of every session, but not of a tentative one */
	__u32 sent;	    /* tentative: the number behind what the host has sent, the most that proves its client */
	struct {
		__u16 client; /* the ID that it has chosen for its host, hashed; 0: not known */
		__u16 host;   /* what its host calls itself */
	} ids;		      /* ORIGIN_WEB, UDP: handshake/connection_id.h */
};

/* One 5-tuple pair through the gateway. One cache line: all that a packet of the flow needs. */
struct session {
	__u32 private_address;
	__u32 remote_address;
	__u32 external_address;
	__u16 private_port;
	__u16 remote_port;
	__u16 external_port;
	__u8 protocol;
	__u8 origin;
	__u32 policy; /* generation and program that checked it, chain.h */
	union life life;
	__u16 address_delta; /* checksum difference private → external, address alone */
	__u16 l4_delta;	     /* the same for the L4 checksum */
	__u16 next_hop_out;
	__u16 next_hop_in;
	union marks marks;
	__u32 opened; /* tick */
	union holds holds;
	union proof proof;
};
