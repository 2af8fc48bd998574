/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * External ports: a bitmap for each outbound address and protocol. The inside port is kept where it is free, else a
 * random one of the same class is taken (RFC 4787 REQ-3, RFC 7857 §9). Ports that dnat names are never taken, nor those
 * that services have of an address of the pool, nor, on an address that the gateway shares, those of its own sockets. How
 * many mappings have is counted beside the bitmap, but for ports below PORT_CLASS, of which one host may have all.
 */
#pragma once

#include <linux/bpf.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "../include/bits.h"
#include "../include/maps.h"
#include "../packet/packet.h"
#include "slot.h"
#include "../conntrack/threshold.h"

#define PORT_CLASS 1024 /* ports below it stay below it */
#define PORT_TRIES 16	/* ports that a socket of the gateway may hold, or dnat, before we give up */

static __always_inline __u32 port_protocol(__u8 protocol)
{
	return protocol == IPPROTO_UDP ? 0 : protocol == IPPROTO_TCP ? 1 : 2;
}

/* Port array of an outbound address, by its slot, and protocol. */
static __always_inline __u32 port_array(__u32 outbound, __u8 protocol)
{
	return outbound * PROTOCOLS + port_protocol(protocol);
}

/* Whether a socket of the gateway itself would get the packet, on an address that we share with it. */
__noinline bool port_is_ours(ctx_t *ctx, const struct tuple *packet)
{
	struct bpf_sock_tuple tuple = {};
	struct bpf_sock *sock;

	if (!packet)
		return false;
	tuple.ipv4.saddr = packet->source;
	tuple.ipv4.sport = packet->source_port;
	tuple.ipv4.daddr = packet->destination;
	tuple.ipv4.dport = packet->destination_port;
	if (packet->protocol == IPPROTO_UDP)
		sock = bpf_sk_lookup_udp(ctx, &tuple, sizeof(tuple.ipv4), BPF_F_CURRENT_NETNS, 0);
	else if (packet->protocol == IPPROTO_TCP)
		sock = bpf_skc_lookup_tcp(ctx, &tuple, sizeof(tuple.ipv4), BPF_F_CURRENT_NETNS, 0);
	else
		return false;
	if (!sock)
		return false;
	bpf_sk_release(sock);
	return true;
}

static __always_inline bool port_claim(struct port_bitmap *bitmap, __u32 port)
{
	__u64 bit = 1ULL << (port & 63);

	if (DRY)
		return !(bitmap->word[port / 64 & 1023] & bit);
	return !(__sync_fetch_and_or(&bitmap->word[port / 64 & 1023], bit) & bit);
}

static __always_inline void port_release(struct port_bitmap *bitmap, __u32 port)
{
	if (DRY)
		return;
	__sync_fetch_and_and(&bitmap->word[port / 64 & 1023], ~(1ULL << (port & 63)));
}

/* A mapping has the port now, or no longer. */
static __always_inline void port_count(struct port_bitmap *bitmap, __u32 port, __s32 change)
{
	if (!DRY && port >= PORT_CLASS)
		__sync_fetch_and_add(&bitmap->taken, change);
}

/* Ports that are not for mappings: those the kernel gives to the gateway's own sockets, on an address of both. */
struct own_ports {
	__u32 first;
	__u32 last; /* below first: none */
};

static __always_inline bool port_is_own(const struct own_ports *own, __u32 port)
{
	return port >= own->first && port <= own->last;
}

/* The bits of word number that are not for mappings. */
static __always_inline __u64 own_bits(const struct own_ports *own, __u32 number)
{
	__u32 low = number * 64, from, to;

	if (own->last < own->first || own->last < low || own->first > low + 63)
		return 0;
	from = own->first > low ? own->first - low : 0;
	to = own->last < low + 63 ? own->last - low : 63;
	return (~0ULL << (from & 63)) & (~0ULL >> ((63 - to) & 63));
}

struct port_search {
	struct port_bitmap *bitmap;
	struct own_ports own;
	__u32 first; /* word of the class */
	__u32 words;
	__u32 start;
	__u32 rotate;
	__s32 port;
};

static long port_search_word(__u32 round, struct port_search *search)
{
	__u32 number = search->first + (search->start + round) % search->words;
	__u64 word = search->bitmap->word[number & 1023] | own_bits(&search->own, number);
	__u32 bit;

	if (word == ~0ULL)
		return 0;
	/* Turn the word by a random amount, so that no port of it comes before the others. */
	word = word >> search->rotate | word << (64 - search->rotate);
	bit = (lowest_clear(word) + search->rotate) & 63;
	if (!port_claim(search->bitmap, number * 64 + bit))
		return 0;
	search->port = number * 64 + bit;
	return 1;
}

/* A random free port of the class, claimed; -1 when there is none. */
__noinline __s32 port_random(struct port_bitmap *bitmap, bool low, const struct own_ports *own)
{
	__u32 random = bpf_get_prandom_u32();
	struct port_search search = {
		.bitmap = bitmap,
		.first = low ? 0 : PORT_CLASS / 64,
		.words = low ? PORT_CLASS / 64 : (PORTS - PORT_CLASS) / 64,
		.rotate = 1 + (random >> 16) % 63,
		.port = -1,
	};

	if (!bitmap || !own)
		return -1;
	search.own = *own;
	search.start = random & 0xffff;
	bpf_loop(PORTS / 64 + 1, port_search_word, &search, 0);
	return search.port;
}

/* Whether dnat names the port of an outbound address, or a service has it. */
__noinline bool port_is_excluded(__u32 address, __u16 port, __u8 protocol)
{
	struct control *control = control_get();
	struct settings *settings = control ? settings_get(control->generation) : 0;
	struct service service = {.host = address, .port = port, .protocol = protocol};

	return settings && settings->keeps && bpf_map_lookup_elem(&service_table, &service);
}

/* Whether the kernel gives ports of the outbound address to the gateway's own sockets. */
static __always_inline bool port_is_shared(__u32 outbound_address, __u8 protocol)
{
	struct address *address = bpf_map_lookup_elem(&address_table, &outbound_address);

	return address && address->local && protocol != IPPROTO_ICMP;
}

/* The ports from PORT_CLASS on that a host may have of its outbound address. */
static __always_inline struct room port_room(const struct mapping_key *host, const struct settings *settings,
					     bool shared)
{
	__u32 array = port_array(host->outbound, host->protocol), most = PORTS - PORT_CLASS, own = 0, taken;
	struct port_bitmap *bitmap = bpf_map_lookup_elem(&port_bitmaps, &array);
	struct control *control = control_get();

	if (!bitmap || !control)
		return (struct room){most, most};
	if (shared && control->own_last >= PORT_CLASS && control->own_first <= control->own_last)
		own = control->own_last + 1 - (control->own_first < PORT_CLASS ? PORT_CLASS : control->own_first);
	own += settings->keeps;
	most = own < most ? most - own : 0;
	taken = *(volatile __u32 *)&bitmap->taken;
	return (struct room){most, taken < most ? most - taken : 0};
}

/* Whether a mapping may have the port by which answers would come: shared, of an address of the gateway's own sockets. */
__noinline bool port_may_be(ctx_t *ctx, const struct tuple *answer, bool shared)
{
	if (!answer || port_is_excluded(answer->destination, answer->destination_port, answer->protocol))
		return false;
	return !shared || !port_is_ours(ctx, answer);
}

/* An external port for the packet's source, claimed and in host byte order; -1 when there is none. */
__noinline __s32 port_choose(ctx_t *ctx, const struct tuple *tuple, __u32 outbound)
{
	struct own_ports own = {.first = 1};
	struct port_bitmap *bitmap;
	struct slot *slot;
	struct control *control = control_get();
	struct tuple answer = {};
	bool shared, keep;
	__u16 inside;
	__s32 port;

	if (!tuple || !control)
		return -1;
	slot = bpf_map_lookup_elem(&slot_table, &outbound);
	answer.destination = slot ? slot->address : 0;
	outbound = port_array(outbound, tuple->protocol); /* in the same place of the stack */
	bitmap = bpf_map_lookup_elem(&port_bitmaps, &outbound);
	inside = bpf_ntohs(tuple->source_port);
	if (!bitmap || !answer.destination)
		return -1;
	shared = port_is_shared(answer.destination, tuple->protocol);
	if (shared) {
		own.first = control->own_first;
		own.last = control->own_last;
	}
	keep = !port_is_own(&own, inside);
	answer.source = tuple->destination;
	answer.source_port = tuple->destination_port;
	answer.protocol = tuple->protocol;
	for (int tries = 0; tries < PORT_TRIES; tries++) {
		port = tries == 0 && keep && port_claim(bitmap, inside)
			       ? inside
			       : port_random(bitmap, inside < PORT_CLASS, &own);
		if (port < 0)
			return -1;
		answer.destination_port = bpf_htons(port);
		if (port_may_be(ctx, &answer, shared)) {
			port_count(bitmap, port, 1);
			return port;
		}
		port_release(bitmap, port);
	}
	return -1;
}
