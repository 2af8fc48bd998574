/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bindings: which service a packet to a pool address meets. The daemon binds and unbinds (bind.h). A session keeps the
 * slot of its binding for as long as its record lasts, and counts there, so that a slot is never used again while somebody
 * refers to it: a binding that has been withdrawn goes on standing for its sessions, and for nobody else.
 */
#pragma once

#include "../conntrack/index.h"
#include "../packet/packet.h"

struct bound_key {
	__u32 address;
	__u16 port;
	__u8 protocol;
};

static __always_inline struct binding *binding_at(__u32 slot)
{
	return bpf_map_lookup_elem(&binding_table, &slot);
}

static __always_inline struct bound_port *bound_port_at(__u32 slot)
{
	return bpf_map_lookup_elem(&bound_port_table, &slot);
}

__noinline bool bound_has_key(__u32 slot, const struct bound_key *key)
{
	struct bound_port *port = bound_port_at(slot);

	return port && key && port->address == key->address && port->port == key->port &&
	       port->protocol == key->protocol;
}

static __always_inline bool bound_matches(__u32 slot, const void *key)
{
	return bound_has_key(slot, key);
}

static __always_inline struct place bound_place(const struct bound_key *key)
{
	return index_place(hash_words(key->address, (__u32)key->port << 8 | key->protocol), fixed.bound_buckets,
			   fixed.bound_bits);
}

__noinline __u32 bound_lookup(const struct bound_key *key)
{
	if (!key)
		return 0;
	return index_find(&bound_port_index, bound_place(key), fixed.bound_bits, bound_matches, key);
}

/* The bound port that the packet comes to, or 0: its own, or that of everything. */
__noinline __u32 bound_find(const struct tuple *tuple)
{
	struct bound_key key = {};
	__u32 slot;

	if (!tuple)
		return 0;
	if (dry_is_lent())
		return 1;
	key.address = tuple->destination;
	key.protocol = tuple->protocol;
	if (tuple->protocol != IPPROTO_ICMP) /* an echo reply has its identifier there */
		key.port = tuple->destination_port;
	slot = bound_lookup(&key);
	if (slot)
		return slot;
	key.port = 0;
	key.protocol = 0;
	return bound_lookup(&key);
}

static __always_inline bool binding_is(const struct binding *binding, __u32 number)
{
	return *(volatile __u32 *)&binding->open && *(volatile __u32 *)&binding->number == number;
}

/* One record more that names the slot; false where that is not the open binding any more. */
static __always_inline bool binding_hold(struct binding *binding, __u32 number)
{
	if (DRY)
		return binding_is(binding, number);
	/* Counted before it is looked at: the daemon closes it before it asks for the count. */
	__sync_fetch_and_add(&binding->records, 1);
	if (binding_is(binding, number))
		return true;
	__sync_fetch_and_add(&binding->records, -1);
	return false;
}

static __always_inline void binding_let_go(struct binding *binding)
{
	if (!DRY)
		__sync_fetch_and_add(&binding->records, -1);
}
