/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records of the circular pool: which service is at which address, by which ports it is reached, and who may come in.
 */
#pragma once

#include <linux/types.h>

/* A service at an address. One cache line. Slot 0 is nobody's. */
struct binding {
	__u32 address;
	__u32 host;
	__u32 number; /* high half of its id: never used twice, never 0 */
	__u32 name;   /* number the daemon knows the service by */
	__u32 stamp;  /* tick at which a session of it was opened or ended last, 0: never */
	__u32 open;   /* 0: withdrawn */
	/* Sessions that stand: proved, and not ended. */
	__u32 sessions;
	/* Session records that name the slot, those of ended and of tentative sessions, too. */
	__u32 records;
	__u32 tentative_next; /* how many were put in its ring, tentative.h */
	__u32 queue_head;     /* how many reservations were put in its queue, queue.h */
	__u32 queue_tail;     /* those below it cannot be claimed any more */
	__u32 answered;	      /* tick at which somebody reserved it last, 0: never */
	__u32 overflowed;     /* tick at which a SYN was answered by a cookie last, 0: never */
	__u16 mss;	      /* the least that its host has said to one that was, 0: as much as is promised, or more */
	__u16 spare;
	__u32 pad[2];
};

/* A port of an address that is bound to a service. */
struct bound_port {
	__u32 address;
	__u32 number;  /* the binding's */
	__u16 binding; /* its slot */
	__u16 port;    /* 0: of ICMP, or every port of every protocol */
	__u16 host_port;
	__u8 protocol; /* 0: any */
	__u8 pad;
};

enum claims_state {
	CLAIMS_CLOSED, /* withdrawn */
	CLAIMS_OPEN,
	CLAIMS_SHARED, /* another than the asker has claimed: the asker is a resolver */
};

struct claims {
	__u8 state;  /* enum claims_state */
	__u8 merged; /* claims left for those who share a resolver's answer */
	__u16 left;  /* claims left */
	__u16 used;
	__u16 use; /* low half of the reservation's, so that a claim is of the one that was found */
};

/* One answer to one asker. One cache line. */
struct reservation {
	__u64 id;	    /* the low half is the slot, the high half tells its uses apart */
	__u64 claims;	    /* struct claims, compared and swapped whole */
	__u64 expires;	    /* CLOCK_MONOTONIC, ns */
	__u64 merged_until; /* until when those may claim who share a resolver's answer, ns; 0: not yet */
	__u64 claimed_at;   /* of the last claim, ns */
	__u32 binding;	    /* slot */
	__u32 number;	    /* the binding's */
	__u32 asker;
	__u32 source; /* who may claim it: within this prefix */
	__u32 name;   /* number the daemon knows the name by that was asked, 0: the service's */
	__u16 window; /* ms for which those may claim who share a resolver's answer */
	__u8 source_bits;
	__u8 pad;
};

/* A client that has proved that it uses a binding. Both words are read and written whole. */
struct known {
	__u64 key;  /* struct known_key; 0: free */
	__u64 life; /* struct known_life; KNOWN_TAKEN: it changes hands just now */
};

struct known_key {
	__u32 client;
	__u32 number; /* the binding's: void when the binding has gone to another */
};

struct known_life {
	__u32 stamp;  /* tick at which a session was opened or ended last */
	__u16 tcp;    /* sessions of TCP that stand */
	__u16 others; /* of other protocols, whose sources anybody can forge: they leave TCP its own */
};
