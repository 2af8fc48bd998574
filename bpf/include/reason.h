/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How a packet ended. Every packet that meets the gateway ends with exactly one reason, which is counted
 * (reason_counters) and, for drops, sampled (flow_events). This enum is the only definition: Go reads the
 * names from the object's type information, docs/reference/counters.md explains them.
 */
#pragma once

enum reason {
	REASON_NONE = 0, /* not decided yet; never counted */

	/* Passed on. */
	REASON_FORWARDED,	       /* translated and redirected to the next hop */
	REASON_FORWARDED_BY_STACK,     /* translated, then handed to the kernel: egress takes no redirected frames */
	REASON_FORWARDED_NO_NEIGHBOUR, /* translated, then handed to the kernel, which asks for the neighbour */
	REASON_TO_GATEWAY,	       /* for the gateway itself: left to the kernel */
	REASON_INSIDE_TO_INSIDE,       /* between two private networks: routed by the kernel, not translated */
	REASON_ANSWERED_ARP,	       /* ARP request for a pool or outbound address */
	REASON_FORWARDED_IPV6,	       /* IPv6 left to the kernel because the configuration says forward */
	REASON_ANSWERED_HONEYPOT, /* SYN to a port of the honeypot: answered, so that its sender proves who it is */

	REASON_ANSWERED_QUESTION, /* for a lent name, its asker not proved: told to come by TCP */
	REASON_ANSWERED_SLOWED,	  /* another question to the name server, over the limit: told the same */

	REASON_HELD_FRAGMENT, /* until the first fragment of its packet comes */

	REASON_ANSWERED_COOKIE, /* SYN to a web address: answered, and nothing is kept of it */
	REASON_ANSWERED_HOST,	/* the SYN and ACK of a web host: acknowledged in its client's stead */
	REASON_HELD_FOR_NAME,	/* of such a connection, while the name that it asks for is read */

	/* Dropped: what the packet is. */
	REASON_DROP_MALFORMED,
	REASON_DROP_FRAGMENT,	     /* a later one, and the first of its packet is not known */
	REASON_DROP_BAD_FRAGMENT,    /* none that a sender makes: RFC 1858 */
	REASON_DROP_QUOTED_FRAGMENT, /* an ICMP error about a later one: no ports tell what it was of */
	REASON_DROP_VLAN,
	REASON_DROP_ETHERTYPE,
	REASON_DROP_PROTOCOL,
	REASON_DROP_ICMP_TYPE,
	REASON_DROP_TCP_FLAGS, /* those that no sender sets */
	REASON_DROP_SMALL_MTU, /* an ICMP error that asks for packets shorter than any link needs */
	REASON_DROP_BAD_ADDRESS,
	REASON_DROP_MULTICAST,
	REASON_DROP_LINK_BROADCAST,
	REASON_DROP_SOURCE_ROUTE,
	REASON_DROP_BAD_CHECKSUM,
	REASON_DROP_IPV6,
	REASON_DROP_TTL_EXPIRED,
	REASON_DROP_TOO_BIG,

	/* Dropped: nothing lets it pass. */
	REASON_DROP_NOT_FOR_US,
	REASON_DROP_SPOOFED_SOURCE,
	REASON_DROP_PRIVATE_SOURCE, /* it would have left by a public interface */
	REASON_DROP_ARP_SENDER,	    /* nobody on the link has its sender's address, or the gateway has */
	REASON_DROP_NO_BINDING,	    /* the pool address has nothing at this port */
	REASON_DROP_NO_RESERVATION, /* nothing there is for this client to claim */
	REASON_DROP_CLAIM_UNPROVED, /* it does not acknowledge what the host has sent */
	REASON_DROP_CLAIM_LOST,	    /* proved, but another has taken the last claim */
	REASON_DROP_COOKIE,	    /* to a web address: of no connection that was begun there */
	REASON_DROP_NAME_UNKNOWN,   /* asks for a name that no host has, or for none */
	REASON_DROP_NAME_NONE,	    /* its client has closed it without a word */
	REASON_DROP_NAME_MALFORMED, /* what asks for a name cannot be read */
	REASON_DROP_NAME_LATE,	    /* it did not ask for one in time */
	REASON_DROP_QUIC_VERSION,   /* asks by a version of QUIC that is not read */
	REASON_DROP_REBINDING,	    /* from a new port of a client of several hosts there: for which one is unknown */
	REASON_DROP_REDIRECTED,	    /* a request of HTTP for a web name that wants https: its client was led there */
	REASON_DROP_HOST_REFUSED,   /* the host of that name does not answer, or says no */
	REASON_DROP_HOST_OPTIONS,   /* that host can less than its clients were promised */
	REASON_DROP_NO_MAPPING,
	REASON_DROP_FILTERED,
	REASON_DROP_NO_SESSION,
	REASON_DROP_NOT_SYN,
	REASON_DROP_SESSION_CONFLICT,
	REASON_DROP_SERVICE_CLOSED,
	REASON_DROP_BANNED,
	REASON_DROP_DENIED,   /* by a network function of a chain */
	REASON_DROP_HONEYPOT, /* by the honeypot */

	/* Dropped: between edges. */
	REASON_DROP_NO_PACT,	    /* to a proxy address that stands for nobody */
	REASON_DROP_PROXY_FOREIGN,  /* to one that another host has */
	REASON_DROP_PACT_DIRECTION, /* it would open a flow, and its side may not */
	REASON_DROP_PACT_SERVICE,   /* the pact has no such port */
	REASON_DROP_PACT_SESSIONS,  /* the other edge has as many as was agreed */
	REASON_DROP_NO_LINK,	    /* the link of its pact is gone, banned or without a key */
	REASON_DROP_EDGE_MALFORMED, /* no header as an edge writes it */
	REASON_DROP_EDGE_FRAGMENT,  /* of a packet of the tunnel */
	REASON_DROP_EDGE_LINK,	    /* a VNI of no link */
	REASON_DROP_EDGE_SOURCE,    /* not from that link's locator */
	REASON_DROP_EDGE_EPOCH,	    /* by a key that is over, or not yet there */
	REASON_DROP_EDGE_FORGED,    /* the authenticator is wrong */
	REASON_DROP_EDGE_TAG,	    /* of no pact, or none any more */

	/* Dropped: something is used up or missing. */
	REASON_DROP_SESSION_TABLE_FULL,
	REASON_DROP_SESSION_INDEX_FULL,
	REASON_DROP_MAPPING_INDEX_FULL,
	REASON_DROP_NO_ADDRESS, /* no outbound address lives */
	REASON_DROP_NO_PORT,
	REASON_DROP_HOST_SESSIONS, /* the host inside has as many as it may */
	REASON_DROP_HOST_PORTS,
	REASON_DROP_HOST_RATE,
	REASON_DROP_REMOTE_SESSIONS, /* the remote address has as many open as it may */
	REASON_DROP_REMOTE_RATE,
	REASON_DROP_BINDING_SESSIONS,
	REASON_DROP_MAPPING_SESSIONS,
	REASON_DROP_CLIENT_LIMIT,   /* as many sessions of the client stand with the binding as may */
	REASON_DROP_QUESTION_LIMIT, /* to the name server, over the limit, and nothing to be told about */
	REASON_DROP_WEB_FULL,	    /* as many connections wait for their names as may */
	REASON_DROP_DAEMON_AWAY,    /* to a web address, and nobody reads names */
	REASON_DROP_NO_ROUTE,
	REASON_DROP_BUSY,
	REASON_DROP_INTERNAL,

	/* Dropped here, and sent again by the daemon. */
	REASON_HELD_FOR_VERDICT, /* while a program says what becomes of its flow: the function "ask" */

	REASON_MAX,
};
