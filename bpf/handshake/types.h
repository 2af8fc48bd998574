/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the daemon says of connections to web addresses, and what it hears of them. A connection is known by its outside
 * tuple until it is a session.
 */
#pragma once

#include <linux/types.h>

#define WEB_PORTS     16 /* different ones, of TCP and of UDP */
#define WEB_NAME_BITS 24 /* of a name's number, in a session */
#define WEB_SOURCES   4096
#define WEB_ANSWERS   16384 /* connections whose name was read, and whose host has not answered yet */

/* The window scale that clients are promised (RFC 7323 section 2): for 32 MB, as many as Linux has room for. */
#define HANDSHAKE_SCALE 9
#define HANDSHAKE_CLOCK 20 /* of CLOCK_MONOTONIC's ns: our timestamps count about milliseconds */
#define HANDSHAKE_NONE	15 /* no window scale: greater than any (RFC 7323 section 2.3) */

/* What a web address promises its clients, as all its hosts can. */
enum web_promise {
	WEB_PROMISES_SACK = 1,
	WEB_PROMISES_TIMESTAMPS = 2,
};

/* Written by the daemon again and again: it is its heartbeat. */
struct web_state {
	__u64 until; /* CLOCK_MONOTONIC, ns: it lives, and reads names */
};

struct web_key {
	__u32 remote;
	__u32 address;
	__u16 remote_port;
	__u16 port;
	__u8 protocol;
	__u8 pad[3];
};

/* Where a connection goes, now that its name is read. */
struct web_answer {
	__u32 begun;  /* its client's first number, or quic_begun: another connection by the same ports is another */
	__u32 host;   /* 0: nowhere */
	__u32 name;   /* number of the name that it asked for, WEB_NAME_BITS of it */
	__u32 next;   /* TCP: the client's number behind what has gone to the host, all before it has, too */
	__u16 port;   /* the host's */
	__u16 reason; /* why it goes nowhere */
};

/* What the daemon hears, by metadata of XDP, of a frame that it has the program run over, and sends itself (internal/datapath/replay_xdp.go). */
struct replay {
	__u32 by;	    /* the interface that it goes by */
	__u32 begun;	    /* of key's answer */
	__u32 next;	    /* the same, when the frame has been sent */
	struct web_key key; /* protocol 0: none */
};

enum replay_mark {
	REPLAY_BUFFER = 0x52677265, /* cb[0] of a socket buffer that the daemon runs a program over */
};

enum web_event_kind {
	WEB_FIRST = 1, /* a frame: the first data of a connection, whose client has proved its address */
	WEB_LATER,     /* a frame: other data of one that is no session yet, which may be anybody's */
	WEB_OPENED,    /* it is a session: its frames may be sent again, in their order */
	WEB_REFUSED,   /* it is none, for a reason */
	WEB_WEAK,      /* it is none, as its host can less than was promised: mss, promises */
	WEB_DATAGRAM,  /* a frame: an Initial of QUIC without a session, which may be anybody's */
	WEB_ANEW, /* the same by the ports of a session; whether of its connection or another one its protection tells */
};

struct web_event {
	__u64 at; /* CLOCK_MONOTONIC, ns */
	struct web_key key;
	__u32 ifindex;
	__u32 length; /* of the frame */
	__u32 begun;  /* the client's first number, of WEB_OPENED, WEB_REFUSED and WEB_WEAK */
	__u16 kind;   /* enum web_event_kind */
	__u16 reason; /* enum reason */
	__u16 mss;    /* of WEB_WEAK, host byte order */
	__u16 promises;
	__u16 each; /* octets of each datagram of an aggregate, 0: it is one */
	__u16 pad;
};

#define WEB_RING      (1 << 21) /* octets of web_events */
#define WEB_RING_TOLD (1 << 16) /* of which frames leave so many for what is told of connections: about 800 */

/* A frame is behind its event, in room for one of these lengths: of a segment, of an aggregate of two, as long hellos are, of more. */
#define WEB_FRAME_SHORT	 1600
#define WEB_FRAME_MIDDLE 3200
#define WEB_FRAME_LONG	 16640
