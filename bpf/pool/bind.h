/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the daemon does with bindings: a binding first, then its ports; its ports first, then the binding. It calls one
 * at a time, and gives a slot of a port to the next as late as it can.
 */
#pragma once

#include "binding.h"
#include "../include/errno.h"

/* Opens a binding in a slot that nobody refers to any more. */
static __always_inline int bind_run(struct binding_request *request)
{
	struct binding *binding = binding_at(request->slot);

	if (!request->slot || !binding)
		return -ENOENT;
	if (binding->open)
		return -EEXIST;
	/* records is not written: somebody may just look whether the slot is still what it has found. */
	if (*(volatile __u32 *)&binding->records)
		return -EBUSY;
	binding->address = request->binding.address;
	binding->host = request->binding.host;
	binding->name = request->binding.name;
	binding->stamp = request->binding.stamp;
	binding->answered = request->binding.answered;
	binding->sessions = 0;
	binding->overflowed = 0;
	binding->mss = 0;
	binding->queue_tail = binding->queue_head;
	*(volatile __u32 *)&binding->number = request->binding.number;
	__sync_lock_test_and_set(&binding->open, 1);
	return 0;
}

/* Closes it: nothing is claimed of it any more, and its sessions go on. */
static __always_inline int unbind_run(struct binding_request *request)
{
	struct binding *binding = binding_at(request->slot);

	if (!request->slot || !binding || binding->number != request->binding.number)
		return -ENOENT;
	return __sync_lock_test_and_set(&binding->open, 0) ? 0 : -ENOENT;
}

static __always_inline struct bound_key bound_key_of(const struct bound_port *port)
{
	return (struct bound_key){.address = port->address, .port = port->port, .protocol = port->protocol};
}

static __always_inline int bind_port_run(struct binding_request *request)
{
	struct bound_port *port = bound_port_at(request->slot), wanted = request->port;
	struct bound_key key = bound_key_of(&wanted);

	if (!request->slot || !port)
		return -ENOENT;
	if (bound_lookup(&key))
		return -EEXIST;
	*port = wanted;
	barrier();
	return index_insert(&bound_port_index, bound_place(&key), request->slot) ? 0 : -ENOSPC;
}

static __always_inline int unbind_port_run(struct binding_request *request)
{
	struct bound_port *port = bound_port_at(request->slot);
	struct bound_key key;

	if (!request->slot || !port)
		return -ENOENT;
	key = bound_key_of(port);
	index_remove(&bound_port_index, bound_place(&key), request->slot);
	__builtin_memset(port, 0, sizeof(*port));
	return 0;
}
