/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the daemon asks of the programs, and what it hears from them.
 */
#pragma once

#include "types.h"

/* What reserve_binding, extend_reservation and withdraw_reservation take and return. */
struct reservation_request {
	__u32 slot; /* of the reservations table, chosen by the daemon, 1… */
	__s32 error;
	struct claims claims; /* to grant, or found */
	struct reservation reservation;
};

/* What bind and unbind take and return; for a port, the port alone counts. */
struct binding_request {
	__u32 slot; /* of binding_table, or of bound_port_table, chosen by the daemon, 1… */
	__s32 error;
	struct binding binding;
	struct bound_port port;
};

/* Whose counts clear_count is to begin anew. */
struct count_request {
	__u32 function;
	__u32 cpus; /* possible ones */
};

struct claim_event {
	__u64 id; /* of the reservation */
	__u64 at; /* CLOCK_MONOTONIC, ns */
	__u32 client;
	__u16 left;
	__u16 used;
};

/* A handshake with the honeypot was completed: its source is nobody else's address. */
struct honeypot_event {
	__u64 at; /* CLOCK_MONOTONIC, ns */
	struct in6 source;
	__u16 port; /* of ours */
	__u8 pad[6];
};

#define DROP_FRAME 128 /* bytes that are kept of a frame: headers, also those that an ICMP error quotes */

/* What a record of flow_events tells; in the same place of each. */
enum told {
	TOLD_DROP,
	TOLD_MAPPING_BEGINS,
	TOLD_MAPPING_ENDS,
	TOLD_SESSION_BEGINS,
	TOLD_SESSION_CHANGES,
	TOLD_SESSION_ENDS,
	TOLD_BOTH_BEGIN, /* a session, and the mapping that was made for it */
};

#define FLOW_RING (1 << 21) /* bytes: 43,000 flow_event, of what a sweep ends at once */

struct flow_event {
	__u64 at; /* CLOCK_MONOTONIC, ns */
	__u32 private_address;
	__u16 private_port;
	__u16 told; /* enum told */
	__u32 external_address;
	__u32 remote_address; /* from here on of sessions alone */
	__u16 external_port;
	__u16 remote_port;
	__u8 protocol;
	__u8 origin; /* enum origin */
	__u8 tcp;    /* enum tcp_state */
	__u8 flags;  /* of its record */
	__u32 name;  /* number of the name it was asked for by, 0 for none */
	__u32 turn;  /* in a row: how many the CPU has written with it; written last */
};

#define FLOW_ROW 1024 /* places; a power of two */

/* The flow_event of a CPU that are not read yet. */
struct flow_row {
	__u64 taken; /* by the reader, ever */
	__u64 pad[7];
	struct flow_event event[FLOW_ROW];
};

struct drop_event {
	__u64 at;
	__u32 ifindex;
	__u16 reason;
	__u16 told;
	__u64 missed; /* how many drops the CPU has not told of, in all */
	__u32 source;
	__u32 destination;
	__u16 source_port;
	__u16 destination_port;
	__u16 length;
	__u8 protocol;
	__u8 side;
	__u16 cpu;
	__u16 captured; /* bytes of frame */
	__u8 frame[DROP_FRAME];
	__u8 pad[4];
};

/* What sweep takes, in the frame it is run with, and returns there. */
struct sweep_request {
	__u32 first; /* record to begin with */
	__u32 count; /* on return, how many it came to */
	__u32 table; /* enum sweep_table */
	__u32 freed;
	__u32 busy;    /* sessions that should have ended, and whose stripe could not be had */
	__u32 use;     /* for SWEEP_END, a session's version plus 1: it ends in no other use of its record; 0: any */
	__u32 address; /* for SWEEP_END: sessions by this outbound address alone; 0: any */
	__u32 pad;
};

enum sweep_table {
	SWEEP_SESSIONS,
	SWEEP_MAPPINGS,
	SWEEP_END,	 /* sessions, however young */
	SWEEP_END_RESTS, /* of ports, however long they would be */
};

#define SWEEP_MOST	   8192 /* records to look at: what is not in use is passed over */
#define SWEEP_MOST_WORDS   4096
#define SWEEP_MOST_CHANGES 512 /* sessions to end: no packet comes to a CPU meanwhile, for about a millisecond */
