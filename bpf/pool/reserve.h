/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the daemon does with reservations: reserve a binding before it answers a name (I6), add a claim to it, withdraw
 * it and learn what became of it. The daemon calls one at a time.
 */
#pragma once

#include "../include/errno.h"
#include "queue.h"

/* Behind the others of the binding. Where the queue is full the oldest goes without. */
static __always_inline void reserve_queue(struct binding *binding, const struct reservation *r, __u32 slot)
{
	__u32 head = binding->queue_head, place = queue_place(r->binding, head);
	__u32 *entry = bpf_map_lookup_elem(&reservation_queue, &place);

	if (!entry)
		return;
	*(volatile __u32 *)entry = slot;
	barrier();
	*(volatile __u32 *)&binding->queue_head = head + 1;
}

/* Field by field: the kernel lets nobody read a request through another pointer into it. */
static __always_inline void reserve_fill(struct reservation *r, const struct reservation_request *request)
{
	r->id = request->reservation.id;
	r->expires = request->reservation.expires;
	r->merged_until = 0;
	r->claimed_at = 0;
	r->binding = request->reservation.binding;
	r->number = request->reservation.number;
	r->asker = request->reservation.asker;
	r->source = request->reservation.source;
	r->name = request->reservation.name;
	r->window = request->reservation.window;
	r->source_bits = request->reservation.source_bits;
}

/* For a daemon that comes after this one: since when nobody has been given the binding's address. */
static __always_inline void reserve_stamp(struct binding *binding)
{
	/* Programs of the daemon's may not ask for the coarse clock. */
	*(volatile __u32 *)&binding->answered = bpf_ktime_get_ns() >> TICK_SHIFT;
}

static __always_inline int reserve_run(struct reservation_request *request)
{
	struct reservation *r = reservation_at(request->slot);
	struct binding *binding = binding_at(request->reservation.binding);
	struct place place;

	if (!request->slot || !r || !binding || !binding_is(binding, request->reservation.number))
		return -ENOENT;
	if (claims_of(r->claims).state != CLAIMS_CLOSED)
		return -EEXIST;
	request->claims.use = request->reservation.id >> 32;
	reserve_fill(r, request);
	reserve_stamp(binding);
	barrier();
	*(volatile __u64 *)&r->claims = claims_word(request->claims);
	/*
	 * An asker with more of them than its buckets hold is found in the queue alone: it is a resolver, and its own
	 * address no client's.
	 */
	place = reservation_place(r->number, r->asker);
	index_insert(&reservation_index, place, request->slot);
	reserve_queue(binding, r, request->slot);
	return 0;
}

/* Raises the claims granted in all to the request's; -ENOENT when the reservation is spent or gone. */
static __always_inline int extend_run(struct reservation_request *request)
{
	struct reservation *r = reservation_at(request->slot);
	struct binding *binding = r ? binding_at(r->binding) : 0;
	__u16 granted = request->claims.left;

	if (!r || !binding || r->id != request->reservation.id)
		return -ENOENT;
	if (binding_is(binding, r->number))
		reserve_stamp(binding);
	for (int tries = 0; tries < 8; tries++) {
		__u64 before = *(volatile __u64 *)&r->claims;
		struct claims claims = claims_of(before);

		if (claims.state == CLAIMS_CLOSED || !claims.left)
			return -ENOENT;
		if (claims.left + claims.used >= granted)
			return 0;
		claims.left = granted - claims.used;
		if (__sync_val_compare_and_swap(&r->claims, before, claims_word(claims)) == before)
			return 0;
	}
	return -ENOENT;
}

/* Closes the reservation and returns what became of its claims. */
static __always_inline int withdraw_run(struct reservation_request *request)
{
	struct reservation *r = reservation_at(request->slot);

	if (!request->slot || !r || r->id != request->reservation.id)
		return -ENOENT;
	for (int tries = 0; tries < 8; tries++) {
		__u64 before = *(volatile __u64 *)&r->claims;
		struct claims closed = claims_of(before);

		if (closed.state == CLAIMS_CLOSED)
			return -ENOENT;
		closed.state = CLAIMS_CLOSED;
		if (__sync_val_compare_and_swap(&r->claims, before, claims_word(closed)) != before)
			continue;
		index_remove(&reservation_index, reservation_place(r->number, r->asker), request->slot);
		request->claims = claims_of(before);
		request->reservation.claimed_at = r->claimed_at;
		return 0;
	}
	return -ENOENT;
}
