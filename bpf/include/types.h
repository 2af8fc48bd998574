/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records shared by the kernel and the daemon, and the words they are made of. Go gets these types through
 * bpf2go; there is no second definition. Addresses and ports are in network byte order wherever they stand.
 */
#pragma once

#include <linux/types.h>

#include "../fragment/types.h"
#include "../handshake/types.h"
#include "../conntrack/limit_types.h"
#include "../conntrack/timeout.h"
#include "../conntrack/types.h"
#include "../pool/types.h"
#include "../nat/slot_types.h"
#include "../tunnel/types.h"

#define INDEX_SLOTS	 16
#define PORTS		 65536
#define PROTOCOLS	 3
#define LOCKS		 1024
#define CLIENT_LOCKS	 256
#define REFUSAL_SOURCES	 1024
#define NEXT_HOPS	 16384
#define ROUTE_CACHE	 1024		    /* of a CPU */
#define BANS		 ((1 << 21) + 1024) /* and what is exempt; some kernels replace no entry of a full trie */
#define BANNED_ADDRESSES (1 << 16)
#define EXCEPTS		 64 /* prefixes without NAT */

/* Sizes and secrets, fixed when the maps are created and read-only to the programs. */
struct layout {
	__u64 seed[2];	 /* hash seeds, random */
	__u64 shape;	 /* hash over the tables' types and sizes */
	__u64 namespace; /* inode of the network namespace */
	__u64 build;	 /* hash over the compiled programs that are pinned */
	__u32 capacity;	 /* sessions */
	__u32 reserve;	 /* records that only sessions from outside may have, and as many only those from inside */
	__u32 session_buckets; /* of session_index */
	__u32 session_bits;    /* of a slot that hold the record's number */
	__u32 mapping_buckets;
	__u32 mapping_bits;
	__u32 reservation_buckets;
	__u32 reservation_bits;
	__u32 bindings;	     /* slots, from 1 on */
	__u32 ring;	     /* tentative sessions of a binding; a power of two */
	__u32 queue;	     /* reservations in the queue of a binding; a power of two */
	__u32 bound_buckets; /* of bound_index */
	__u32 bound_bits;
	__u32 known_buckets; /* of KNOWN_WAYS entries */
	__u32 subscriber_buckets;
	__u32 remote_buckets;
	__u32 slots;  /* for outbound addresses */
	__u32 groups; /* of shares, slot.h */
	__u32 rows;   /* 1: flow_rows are written; a CPU's stores have to be seen in their order */
	__u32 pad;
	__u64 syn_cookie_key[2]; /* of handshake/syn_cookie.h, random */
};

/* Destinations that are reached without NAT; both words in network byte order. */
struct except {
	__u32 address;
	__u32 mask;
};

/* A host's own public address by its private one, and that by the other; turn: the last bit of the generation. */
struct owner {
	__u32 address;
	__u32 turn;
};

/* What a reload may change. Two of them: the programs read settings[generation & 1]. */
struct settings {
	__u32 timeout[TIMEOUT_MAX]; /* by enum timeout, in ticks of 2^28 ns, see clock.h */
	__u32 port_quarantine;	    /* 0 where filtering depends on the peer */
	__u32 since;	/* the generation that these came with; later ones of the same parity judge by them, too */
	__u8 filtering; /* enum filtering */
	__u8 ipv6_forward;
	__u8 dnat; /* some chains say where flows go (dnat): their classifier is asked before reservations and mappings */
	__u8 protects6; /* the protection has IPv6 addresses: its program is asked about what ipv6_forward lets pass */
	__u16 entry[2]; /* what judges flows from outside, and inside: an enum entry, or their only chain's program */
	__u16 input;	/* the program of the protection alone, 0 where there is none */
	__u8 honeypot;	/* it has a honeypot: what is for nobody is shown to it, too */
	__u32 name_server; /* where it is asked from outside */
	__u16 name_port;
	__u16 client_sessions;	 /* of one client that may stand with one binding: TCP's, and all others' */
	__u8 refuse;		 /* tell strangers at pool addresses that they may open nothing */
	__u8 loose_reverse_path; /* a source inside may be reached by another private interface than it came by */
	__u16 mss;		 /* the most that a SYN may say; enum mss */
	struct limits limits;
	__u32 excepts; /* how many there are */
	__u32 owners;  /* hosts with a public address of their own */
	__u32 keeps;   /* ports that no mapping gets, of the outbound address and protocol that have most of them */
	__u16 web_port[2][WEB_PORTS]; /* of web addresses: TCP's and UDP's, 0 where there are no more */
	struct except except[EXCEPTS];
};

enum mss {
	MSS_AUTO = 0,	 /* what fits the links of both sides */
	MSS_OFF = 65535, /* whatever it says */
};

enum watch {
	WATCH_DROPS = 1,
	WATCH_MAPPINGS = 2,
	WATCH_SESSIONS = 4,
};

struct control {
	__u32 generation;  /* of the policy in force */
	__u32 route_epoch; /* next hops of another epoch are looked up again */
	__u32 watch;	   /* enum watch: to what of flow_events somebody listens */
	__u16 own_first;   /* ports that the kernel gives to sockets of the gateway, host byte order */
	__u16 own_last;
	__u8 source_blind;   /* no routing rule looks at a packet's source */
	__u8 banning;	     /* enum banning: which bans there have been */
	__u8 excluded_ports; /* outbound addresses have had ports of dnat or services: sessions of theirs may stand */
	__u8 left;	     /* outbound addresses have left, and sessions have ended with them */
	__u32 edge_address;  /* where packets of the tunnel come in, 0: nowhere */
	__u64 untold_known;  /* the daemon's: of STATISTIC_FLOWS_UNTOLD, how many it has told of */
	__u32 proxy_first;   /* the first proxy address, in host byte order */
	__u32 proxy_size;    /* how many there are, 0: none */
	__u16 edge_port;
	__u8 pad[6];
} __attribute__((aligned(8)));

/* Where sessions stand, record_bucket.h. */
enum record_bucket {
	BUCKET_RECORDS = 2,		    /* of a bucket; a power of two */
	PAGE_BUCKETS = 64 / BUCKET_RECORDS, /* of a page: 4 KiB of records, and a word of bits */
	OVERFLOW_MOST = 255,		    /* sessions that a bucket counts as overflowed, and then for ever */
};

/* The session records in use, of sessions opened from outside and from inside. */
struct record_uses {
	__s32 of[2];
	__u8 pad[56];
};

enum filtering {
	FILTER_ENDPOINT_INDEPENDENT,
	FILTER_ADDRESS_DEPENDENT,
	FILTER_ADDRESS_AND_PORT_DEPENDENT,
};

/* A bucket of an index: tag in the high bits, record number in the low ones, 0 is empty. */
struct bucket {
	__u32 slot[INDEX_SLOTS];
};

/* The internal endpoint behind an external port. */
struct endpoint {
	__u32 address;
	__u16 port;
	__u8 phase;   /* enum phase */
	__u8 counted; /* it counts with its subscriber */
};

/*
 * Mappings of a few neighbouring external ports, 12 bytes each, in two cache lines side by side. A mapping is known
 * by its place, (slot * PROTOCOLS + protocol) * PORTS + port, and stands in block slot / MAPPING_BLOCK.
 */
#define MAPPING_BLOCK	8
#define MAPPING_USERS	0xfffff	 /* bits of them all */
#define MAPPING_INBOUND 0x100000 /* one from outside */

/* By the endpoint's phase. */
union mapping_use {
	__u32 users; /* live: sessions that use it, and in the high bits those opened from outside */
	__u32 ended; /* quarantined: the tick of the last one's end */
};

struct mapping_block {
	__u64 endpoint[MAPPING_BLOCK]; /* struct endpoint, read and written whole */
	union mapping_use use[MAPPING_BLOCK];
};

/* The ports in use of an outbound address and protocol. */
struct port_bitmap {
	__u64 word[PORTS / 64];
	__u32 taken; /* for mappings, from PORT_CLASS on */
	__u32 pad;
};

/* An address that we answer for. */
enum address_kind {
	ADDRESS_POOL = 1,
	ADDRESS_OUTBOUND = 2,
	ADDRESS_DNAT = 3, /* for dnat alone */
	ADDRESS_OWN = 4,  /* one host's (1:1) */
	ADDRESS_WEB = 5,  /* of names that are read from connections, and nothing else's */
};

struct address {
	__u8 kind;
	__u8 local;    /* it is on an interface of the gateway, whose own sockets come first */
	__u8 number;   /* outbound: its slot */
	__u8 lends;    /* outbound: it is of the pool, too, whose services have ports of it */
	__u8 group;    /* outbound: its slot's */
	__u8 promises; /* web: a set of enum web_promise */
	__u16 mss;     /* web: the most that its hosts take, host byte order; outbound: 0 where no names are read */
};

/* Which neighbour: compared and swapped whole. */
union next_hop_key {
	struct {
		__u32 gateway;
		__u16 ifindex;
		__u16 mtu; /* of the route: two destinations behind one neighbour may differ */
	} as;
	__u64 word;
};

/* What a route lookup taught us of one neighbour. */
struct next_hop {
	union next_hop_key key;
	__u32 stamp;   /* tick of the last confirmation */
	__u8 redirect; /* enum redirect: what the interface takes */
	__u8 pad[3];
	__u8 destination[6];
	__u8 source[6];
	__u32 used; /* tick of the last packet, for the daemon that keeps neighbours fresh */
};

/* What the kernel's routing table answered, route/cache.h. */
struct route_cache_entry {
	__u32 source;
	__u32 destination;
	__u32 ingress;
	__u32 stamp;  /* tick */
	__u32 number; /* of the next hop, 0 for no answer */
	__u16 epoch;
	__u8 side;
	__u8 pad;
};

/* An IPv6 address, or an IPv4 address in the mapped form (RFC 4291 §2.5.5.2). */
struct in6 {
	__u32 word[4];
};

enum side {
	SIDE_PUBLIC = 1,
	SIDE_PRIVATE = 2,
};

struct interface {
	__u32 address; /* the source of our ICMP errors there, 0: none */
	__u8 side;
	__u8 redirect; /* enum redirect: what it takes */
	__u8 mac[6];
	__u8 bare; /* its packets have no link header: there are no link addresses */
	__u8 pad[3];
};

/*
 * A host's service that a session from the pool needs to be open: port 0 for ICMP, and protocol 0 for a whole host. Or a port of an
 * outbound address that dnat names, or that a service has: no mapping gets it.
 */
struct service {
	__u32 host;
	__u16 port;
	__u8 protocol;
	__u8 pad;
};

enum banning {
	BANNING_ADDRESSES = 1,
	BANNING_PREFIXES = 2,
	BANNING_IPV6 = 4,
};

/* Keys of tries of prefixes. */
struct banned {
	__u32 bits;
	__u32 address;
};

struct banned6 {
	__u32 bits;
	struct in6 address;
};

/* Settings of the host that the daemon changed on an interface, so that a later daemon can put them back. */
struct host_settings {
	__s32 forwarding;
	__s32 accept_local;
	__s32 rp_filter;
	__s32 accept_redirects;
	__s32 send_redirects;
};
