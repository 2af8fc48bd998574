/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Outbound mappings: one external endpoint for an internal one, whatever the remote (RFC 4787 REQ-1), on the
 * address that all of a host's mappings share (REQ-2). The way back is an array index. The inside port is kept
 * where it is free (port.h); only a mapping that could not keep it is indexed. A mapping lives as long as a session
 * uses it; UDP and ICMP ports then wait out the quarantine (RFC 6888 REQ-8), unless the same endpoint returns. All
 * changes happen under the endpoint's stripe.
 */
#pragma once

#include "../include/clock.h"
#include "../conntrack/index.h"
#include "port.h"
#include "../conntrack/session.h"
#include "../conntrack/subscriber.h"
#include "../trace/tell.h"

static __always_inline __u32 mapping_slot(__u32 outbound, __u8 protocol, __u16 port)
{
	return port_array(outbound, protocol) * PORTS + bpf_ntohs(port);
}

static __always_inline __u8 slot_protocol(__u32 slot)
{
	__u32 protocol = slot / PORTS % PROTOCOLS;

	return protocol == 0 ? IPPROTO_UDP : protocol == 1 ? IPPROTO_TCP : IPPROTO_ICMP;
}

static __always_inline struct mapping_block *mapping_block(__u32 slot)
{
	__u32 block = slot / MAPPING_BLOCK;

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
		u.word = *(volatile __u64 *)&block->endpoint[slot % MAPPING_BLOCK];
	return u.endpoint;
}

static __always_inline void mapping_set(__u32 slot, struct endpoint endpoint)
{
	struct mapping_block *block = mapping_block(slot);
	union {
		struct endpoint endpoint;
		__u64 word;
	} u = {.endpoint = endpoint};

	if (!DRY && block)
		*(volatile __u64 *)&block->endpoint[slot % MAPPING_BLOCK] = u.word;
}

/* Its sessions, or the last one's end; 0 only for the verifier's sake. */
static __always_inline union mapping_use *mapping_use(__u32 slot)
{
	struct mapping_block *block = mapping_block(slot);

	return block ? &block->use[slot % MAPPING_BLOCK] : 0;
}

__noinline bool mapping_has_key(__u32 slot, const struct mapping_key *key)
{
	struct endpoint endpoint = mapping_at(slot);

	return key && endpoint.address == key->address && endpoint.port == key->port && endpoint.phase != PHASE_FREE &&
	       slot / PORTS == port_array(key->outbound, key->protocol);
}

static __always_inline bool mapping_matches(__u32 slot, const void *key)
{
	return mapping_has_key(slot, key);
}

static __always_inline struct place mapping_place(const struct mapping_key *key)
{
	return index_place(endpoint_hash(key->address, key->port, key->protocol), fixed.mapping_buckets,
			   fixed.mapping_bits);
}

/* The slot of a mapping that has kept the inside port: where it is looked for first, without the index. */
static __always_inline __u32 mapping_kept(const struct mapping_key *key)
{
	return mapping_slot(key->outbound, key->protocol, key->port);
}

/* Reads what mapping_acquire will: early, and all at once, so that there is one wait for memory. */
static __always_inline void mapping_touch(const struct mapping_key *key)
{
	struct place place = mapping_place(key);

	mapping_at(mapping_kept(key));
	index_touch(&mapping_index, place);
}

static __always_inline __u32 mapping_find(const struct mapping_key *key)
{
	__u32 kept = mapping_kept(key);

	if (mapping_has_key(kept, key))
		return kept;
	return index_find(&mapping_index, mapping_place(key), fixed.mapping_bits, mapping_matches, key);
}

static __always_inline struct mapping_key mapping_key_of(__u32 slot, struct endpoint endpoint)
{
	return (struct mapping_key){endpoint.address, endpoint.port, slot_protocol(slot), slot / PORTS / PROTOCOLS};
}

static __always_inline void mapping_tell(__u32 slot, const struct mapping_key *key, enum told told)
{
	if (is_watched(WATCH_MAPPINGS))
		tell_mapping(key, bpf_htons(slot & (PORTS - 1)), told);
}

__noinline int mapping_clear(__u32 slot)
{
	struct endpoint endpoint = mapping_at(slot);
	struct mapping_key key = mapping_key_of(slot, endpoint);
	__u32 array = slot / PORTS;
	struct port_bitmap *bitmap = bpf_map_lookup_elem(&port_bitmaps, &array);

	if ((slot & (PORTS - 1)) != bpf_ntohs(key.port))
		index_remove(&mapping_index, mapping_place(&key), slot);
	mapping_set(slot, (struct endpoint){});
	mapping_tell(slot, &key, TOLD_MAPPING_ENDS);
	if (bitmap) {
		port_release(bitmap, slot & (PORTS - 1));
		port_count(bitmap, slot & (PORTS - 1), -1);
	}
	count_statistic(STATISTIC_MAPPINGS_FREED);
	return 1;
}

/* The subscriber behind it, for the stack of kernels before 6.9. */
static __always_inline void mapping_free(__u32 slot)
{
	struct endpoint endpoint = mapping_at(slot);

	mapping_clear(slot);
	if (endpoint.counted)
		subscriber_leave(endpoint.address, slot_protocol(slot), true);
}

/* Whether one session more from outside may use a mapping that stands. */
static __always_inline bool mapping_is_full(__u32 slot, const struct limits *limits)
{
	union mapping_use *use = mapping_use(slot);

	return !use || use->users / MAPPING_INBOUND >= limits->mapping_sessions ||
	       (use->users & MAPPING_USERS) == MAPPING_USERS;
}

/* One session more on a mapping that stands. */
__noinline bool mapping_join(__u32 slot, bool inbound)
{
	struct endpoint endpoint = mapping_at(slot);
	union mapping_use *use = mapping_use(slot);

	if (!use)
		return false;
	if (endpoint.phase == PHASE_LIVE) {
		if ((use->users & MAPPING_USERS) == MAPPING_USERS)
			return false;
		if (!DRY)
			use->users += inbound ? MAPPING_INBOUND + 1 : 1;
		return true;
	}
	if (DRY)
		return true;
	use->users = 1;
	endpoint.phase = PHASE_LIVE;
	mapping_set(slot, endpoint);
	return true;
}

/*
 * The mapping of a packet's source, *slot or, if that is 0, a new one, with one more session on it. outbound: whose port a
 * new one takes; counted: it counts with its subscriber already. That a new one begins is the caller's to tell.
 */
__noinline enum reason mapping_acquire(ctx_t *ctx, const struct tuple *tuple, __u32 *slot, __u32 outbound, bool counted)
{
	struct mapping_key key = {};
	struct endpoint endpoint = {.phase = PHASE_QUARANTINED}; /* nobody's until mapping_join */
	__s32 port;

	if (!tuple || !slot)
		return REASON_DROP_INTERNAL;
	key.address = tuple->source;
	key.port = tuple->source_port;
	key.protocol = tuple->protocol;
	if (*slot)
		return mapping_join(*slot, false) ? REASON_NONE : REASON_DROP_MAPPING_SESSIONS;
	key.outbound = outbound;
	port = port_choose(ctx, tuple, outbound);
	if (port < 0) {
		if (counted)
			subscriber_leave(key.address, key.protocol, true);
		return REASON_DROP_NO_PORT;
	}
	*slot = port_array(outbound, key.protocol) * PORTS + port;
	endpoint.address = key.address;
	endpoint.port = key.port;
	endpoint.counted = counted;
	mapping_set(*slot, endpoint);
	count_statistic(STATISTIC_MAPPINGS_OPENED);
	if ((*slot == mapping_kept(&key) || index_insert(&mapping_index, mapping_place(&key), *slot)) &&
	    mapping_join(*slot, false))
		return REASON_NONE;
	mapping_tell(*slot, &key, TOLD_MAPPING_BEGINS);
	mapping_free(*slot);
	return REASON_DROP_MAPPING_INDEX_FULL;
}

/* Tells of one that was made for a session which could not be opened: that it ends is told, too. */
__noinline int mapping_tell_unused(__u32 slot)
{
	struct mapping_key key = mapping_key_of(slot, mapping_at(slot));

	mapping_tell(slot, &key, TOLD_MAPPING_BEGINS);
	return 0;
}

/* One session less. After the last one the port of a datagram protocol waits for so many ticks. */
__noinline int mapping_release(__u32 slot, bool inbound, __u32 quarantine, __u32 tick)
{
	struct endpoint endpoint = mapping_at(slot);
	union mapping_use *use = mapping_use(slot);

	if (!use || endpoint.phase != PHASE_LIVE)
		return 0;
	use->users -= inbound ? MAPPING_INBOUND + 1 : 1;
	if (use->users & MAPPING_USERS)
		return 0;
	/* TCP is exempt from the quarantine: its sessions end by their state. */
	if (quarantine && slot_protocol(slot) != IPPROTO_TCP) {
		use->ended = tick;
		endpoint.phase = PHASE_QUARANTINED;
		mapping_set(slot, endpoint);
	} else {
		mapping_free(slot);
	}
	return 1;
}
