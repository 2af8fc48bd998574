/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Outbound mappings: one external endpoint for an internal one, whatever the remote (RFC 4787 REQ-1), on the
 * address that all of a host's mappings share (REQ-2). The way back is an array index. The inside port is kept
 * where it is free, else a random one of the same class is taken (REQ-3). A mapping lives as long as a session
 * uses it; UDP and ICMP ports then wait out the quarantine (RFC 6888 REQ-8), unless the same endpoint returns.
 * All changes happen under the endpoint's stripe.
 */
#pragma once

#include "clock.h"
#include "index.h"
#include "session.h"

#define PORT_CLASS 1024 /* ports below it stay below it */
#define PORT_TRIES 16	/* ports that a socket of the gateway may hold before we give up */

struct mapping_key {
	__u32 address;
	__u16 port;
	__u8 protocol;
};

static __always_inline __u32 mapping_protocol(__u8 protocol)
{
	return protocol == IPPROTO_UDP ? 0 : protocol == IPPROTO_TCP ? 1 : 2;
}

/* Port array of an outbound address and protocol. */
static __always_inline __u32 mapping_array(__u32 outbound, __u8 protocol)
{
	return outbound * PROTOCOLS + mapping_protocol(protocol);
}

static __always_inline __u32 mapping_slot(__u32 outbound, __u8 protocol, __u16 port)
{
	return mapping_array(outbound, protocol) * PORTS + bpf_ntohs(port);
}

static __always_inline __u8 slot_protocol(__u32 slot)
{
	__u32 protocol = slot / PORTS % PROTOCOLS;

	return protocol == 0 ? IPPROTO_UDP : protocol == 1 ? IPPROTO_TCP : IPPROTO_ICMP;
}

static __always_inline struct mapping_block *mapping_block(__u32 slot)
{
	__u32 block = slot / 64;

	return bpf_map_lookup_elem(&mapping_table, &block);
}

/* What stands behind the slot; phase PHASE_FREE where nothing does. */
static __always_inline struct endpoint mapping_at(__u32 slot)
{
	struct mapping_block *block = mapping_block(slot);
	union {
		__u64 word;
		struct endpoint endpoint;
	} u = {};

	if (block)
		u.word = *(volatile __u64 *)&block->endpoint[slot & 63];
	return u.endpoint;
}

static __always_inline void mapping_set(__u32 slot, struct endpoint endpoint)
{
	struct mapping_block *block = mapping_block(slot);
	union {
		struct endpoint endpoint;
		__u64 word;
	} u = {.endpoint = endpoint};

	if (block)
		*(volatile __u64 *)&block->endpoint[slot & 63] = u.word;
}

/* Its sessions, or the tick of the last one's end; 0 only for the verifier's sake. */
static __always_inline __u32 *mapping_users(__u32 slot)
{
	struct mapping_block *block = mapping_block(slot);

	return block ? &block->users[slot & 63] : 0;
}

static __always_inline bool mapping_matches(__u32 slot, const void *wanted)
{
	const struct mapping_key *key = wanted;
	struct endpoint endpoint = mapping_at(slot);

	return endpoint.address == key->address && endpoint.port == key->port && endpoint.phase != PHASE_FREE &&
	       slot_protocol(slot) == key->protocol;
}

static __always_inline struct place mapping_place(const struct mapping_key *key)
{
	return index_place(endpoint_hash(key->address, key->port, key->protocol), fixed.mapping_buckets,
			   fixed.mapping_bits);
}

/* Paired pooling without state: a host's address chooses its outbound address. */
static __always_inline __u32 mapping_outbound(__u32 private_address)
{
	return (hash_words(private_address, 0) >> 32) * fixed.outbound >> 32;
}

/* Whether a socket of the gateway itself has the port, on an address that we share with it. */
__noinline bool mapping_port_is_ours(struct xdp_md *ctx, __u32 address, __u16 port, __u8 protocol)
{
	struct bpf_sock_tuple tuple = {};
	struct bpf_sock *sock;

	tuple.ipv4.daddr = address;
	tuple.ipv4.dport = port;
	if (protocol == IPPROTO_UDP)
		sock = bpf_sk_lookup_udp(ctx, &tuple, sizeof(tuple.ipv4), BPF_F_CURRENT_NETNS, 0);
	else if (protocol == IPPROTO_TCP)
		sock = bpf_skc_lookup_tcp(ctx, &tuple, sizeof(tuple.ipv4), BPF_F_CURRENT_NETNS, 0);
	else
		return false;
	if (!sock)
		return false;
	bpf_sk_release(sock);
	return true;
}

/* The lowest clear bit of a word that has one. */
static __always_inline __u32 lowest_clear(__u64 word)
{
	__u32 bit = 0;

	word = ~word;
	if (!(word & 0xffffffff)) {
		bit += 32;
		word >>= 32;
	}
	if (!(word & 0xffff)) {
		bit += 16;
		word >>= 16;
	}
	if (!(word & 0xff)) {
		bit += 8;
		word >>= 8;
	}
	if (!(word & 0xf)) {
		bit += 4;
		word >>= 4;
	}
	if (!(word & 0x3)) {
		bit += 2;
		word >>= 2;
	}
	return bit + !(word & 1);
}

static __always_inline bool port_claim(struct port_bitmap *bitmap, __u32 port)
{
	__u64 bit = 1ULL << (port & 63);

	return !(__sync_fetch_and_or(&bitmap->word[port / 64 & 1023], bit) & bit);
}

static __always_inline void port_release(struct port_bitmap *bitmap, __u32 port)
{
	__sync_fetch_and_and(&bitmap->word[port / 64 & 1023], ~(1ULL << (port & 63)));
}

struct port_search {
	struct port_bitmap *bitmap;
	__u32 first; /* word of the class */
	__u32 words;
	__u32 at;
	__u32 rotate;
	__s32 port;
};

static long port_search_word(__u32 round, struct port_search *search)
{
	__u32 number = search->first + search->at;
	__u64 word;
	__u32 bit;

	search->at++;
	if (search->at >= search->words)
		search->at = 0;
	word = search->bitmap->word[number & 1023];
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
__noinline __s32 port_random(struct port_bitmap *bitmap, bool low)
{
	__u32 random = bpf_get_prandom_u32();
	struct port_search search = {
		.bitmap = bitmap,
		.first = low ? 0 : PORT_CLASS / 64,
		.words = low ? PORT_CLASS / 64 : (PORTS - PORT_CLASS) / 64,
		.rotate = 1 + (random >> 16) % 63,
		.port = -1,
	};

	if (!bitmap)
		return -1;
	search.at = (random & 0xffff) % search.words;
	bpf_loop(PORTS / 64 + 1, port_search_word, &search, 0);
	return search.port;
}

/* An external port for the endpoint, claimed and in host byte order; -1 when there is none. */
__noinline __s32 mapping_choose_port(struct xdp_md *ctx, const struct mapping_key *key, __u32 outbound)
{
	struct port_bitmap *bitmap;
	struct address *address;
	__u32 array, external;
	__u16 inside;
	__s32 port;

	if (!key)
		return -1;
	array = mapping_array(outbound, key->protocol);
	bitmap = bpf_map_lookup_elem(&port_bitmaps, &array);
	inside = bpf_ntohs(key->port);
	if (!bitmap || outbound >= MAX_OUTBOUND)
		return -1;
	external = fixed.outbound_address[outbound & (MAX_OUTBOUND - 1)];
	address = bpf_map_lookup_elem(&address_table, &external);
	for (int tries = 0; tries < PORT_TRIES; tries++) {
		port = tries == 0 && port_claim(bitmap, inside) ? inside : port_random(bitmap, inside < PORT_CLASS);
		if (port < 0)
			return -1;
		if (!address || !address->local ||
		    !mapping_port_is_ours(ctx, external, bpf_htons(port), key->protocol))
			return port;
		port_release(bitmap, port);
	}
	return -1;
}

static __always_inline void mapping_free(__u32 slot, struct endpoint endpoint)
{
	struct mapping_key key = {endpoint.address, endpoint.port, slot_protocol(slot)};
	__u32 array = slot / PORTS;
	struct port_bitmap *bitmap = bpf_map_lookup_elem(&port_bitmaps, &array);

	index_remove(&mapping_index, mapping_place(&key), slot);
	mapping_set(slot, (struct endpoint){});
	if (bitmap)
		port_release(bitmap, slot & (PORTS - 1));
	count_statistic(STATISTIC_MAPPINGS_FREED);
}

/* One session more on a mapping that stands. */
static __noinline bool mapping_join(__u32 slot)
{
	struct endpoint endpoint = mapping_at(slot);
	__u32 *users = mapping_users(slot);

	if (!users)
		return false;
	if (endpoint.phase == PHASE_LIVE) {
		*users += 1;
		return true;
	}
	*users = 1;
	endpoint.phase = PHASE_LIVE;
	mapping_set(slot, endpoint);
	return true;
}

/* The mapping of the endpoint, made if there is none, with one more session on it. */
__noinline enum reason mapping_acquire(struct xdp_md *ctx, const struct mapping_key *key, __u32 *slot)
{
	struct endpoint endpoint = {.phase = PHASE_QUARANTINED}; /* nobody's until mapping_join */
	struct place place;
	__u32 outbound;
	__s32 port;

	if (!key || !slot)
		return REASON_DROP_INTERNAL;
	place = mapping_place(key);
	*slot = index_find(&mapping_index, place, fixed.mapping_bits, mapping_matches, key);
	if (*slot)
		return mapping_join(*slot) ? REASON_NONE : REASON_DROP_INTERNAL;
	outbound = mapping_outbound(key->address);
	port = mapping_choose_port(ctx, key, outbound);
	if (port < 0)
		return REASON_DROP_NO_PORT;
	*slot = mapping_array(outbound, key->protocol) * PORTS + port;
	endpoint.address = key->address;
	endpoint.port = key->port;
	mapping_set(*slot, endpoint);
	count_statistic(STATISTIC_MAPPINGS_OPENED);
	if (index_insert(&mapping_index, place, *slot) && mapping_join(*slot))
		return REASON_NONE;
	mapping_free(*slot, endpoint);
	return REASON_DROP_MAPPING_INDEX_FULL;
}

/* One session less. */
static __noinline int mapping_release(__u32 slot, const struct settings *settings, __u32 tick)
{
	struct endpoint endpoint = mapping_at(slot);
	__u32 *users = mapping_users(slot);

	if (!users || !settings || endpoint.phase != PHASE_LIVE)
		return 0;
	*users -= 1;
	if (*users)
		return 0;
	/* TCP is exempt from the quarantine: its sessions end by their state. */
	if (settings->port_quarantine && slot_protocol(slot) != IPPROTO_TCP) {
		*users = tick;
		endpoint.phase = PHASE_QUARANTINED;
		mapping_set(slot, endpoint);
	} else {
		mapping_free(slot, endpoint);
	}
	return 1;
}
