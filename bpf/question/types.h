/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the daemon says of questions to the name server from outside, and what is kept of one while it is looked at.
 */
#pragma once

#include <linux/types.h>

#define QUESTION_MOST	  448 /* octets of a message that is read; longer ones are the daemon's */
#define QUESTION_ROOM	  576 /* whatever nine bits point at, and an option behind it */
#define QUESTION_NETWORKS 4096
#define QUESTION_AWAITED  4096

/* Written by the daemon as a whole, again and again: it is its heartbeat. */
struct question_state {
	__u64 until;	    /* CLOCK_MONOTONIC, ns: it lives, and so does TCP */
	__u64 wall;	    /* what is to be added to CLOCK_MONOTONIC for the time since 1970, ns */
	__u64 secret[2][2]; /* of server cookies: this one's and the one before it */
};

/* Types of questions for a lent name that unproved askers are told nothing of but TC=1; a set. */
enum lent_type {
	LENT_A = 1,
	LENT_AAAA = 2,
	LENT_HTTPS = 4,
};

/* A message, as far as it could be read. */
struct question {
	__u8 octet[QUESTION_ROOM];
	__u64 client;	/* of the cookie */
	__u64 head;	/* of the server cookie: version, reserved, time */
	__u64 hash;	/* its rest */
	__u32 length;	/* of the message */
	__u32 end;	/* behind the question */
	__u16 type;	/* of the question, host byte order */
	__u8 edns;	/* there is an OPT record */
	__u8 dnssec_ok; /* its DO bit */
	__u8 subnet;	/* it says for whom */
	__u8 cookie;	/* it has a client cookie */
	__u8 whole;	/* and a server cookie as long as ours */
	__u8 pad;
};
