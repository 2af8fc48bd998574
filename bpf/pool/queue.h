/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The queue of a binding's reservations, first in, first out: a ring of their slots. The daemon alone puts one in; whoever
 * looks for something to claim moves the tail past those that nobody can claim any more. A slot that was used again
 * since is passed over, or found before its turn, which harms nobody. Of long queues the oldest QUEUE_LOOK and the
 * youngest are looked at.
 */
#pragma once

#include "binding.h"
#include "reservation.h"

#define QUEUE_LOOK 64
#define QUEUE_LATE 4000000000ULL /* ns behind its expiry: who came in time may prove itself until then */

struct queue_walk {
	struct claimer who;
	__u64 now;
	__u32 next;
	__u32 end;
	__s32 step;
	__u32 found; /* slot, 0 for none */
	__u32 dead;  /* how many, from the tail on, nobody can claim any more */
	bool leading;
};

static __always_inline __u32 queue_place(__u32 binding, __u32 position)
{
	return binding * fixed.queue + (position & (fixed.queue - 1));
}

/* Whether nobody can claim what the queue has there. */
static __always_inline bool queue_is_dead(const struct reservation *r, const struct queue_walk *walk)
{
	struct claims claims = claims_of(*(const volatile __u64 *)&r->claims);

	if (claims.state == CLAIMS_CLOSED || r->binding != walk->who.binding || r->number != walk->who.number)
		return true;
	if (!claims.left && (claims.state == CLAIMS_OPEN || !claims.merged))
		return true;
	return walk->now > r->expires + QUEUE_LATE;
}

static long queue_look(__u32 round, struct queue_walk *walk)
{
	__u32 place, *entry, slot;
	struct reservation *r;

	if (walk->next == walk->end)
		return 1;
	place = queue_place(walk->who.binding, walk->next);
	entry = bpf_map_lookup_elem(&reservation_queue, &place);
	slot = entry ? *(volatile __u32 *)entry : 0;
	r = reservation_at(slot);
	if (!r)
		return 1;
	if (reservation_suits(r, &walk->who)) {
		walk->found = slot;
		return 1;
	}
	if (walk->leading && queue_is_dead(r, walk))
		walk->dead++;
	else
		walk->leading = false;
	walk->next += walk->step;
	return 0;
}

/* The first in the queue that the client may claim, or 0. */
__noinline __u32 queue_find(const struct claimer *who, struct binding *binding)
{
	struct queue_walk walk = {.step = 1, .leading = true};
	__u32 head, tail, seen;

	if (!who || !binding)
		return 0;
	walk.who = *who;
	walk.now = bpf_ktime_get_ns();
	head = *(volatile __u32 *)&binding->queue_head;
	seen = *(volatile __u32 *)&binding->queue_tail;
	tail = seen;
	if (head - tail > fixed.queue) /* more than it holds: the oldest were overwritten */
		tail = head - fixed.queue;
	walk.next = tail;
	walk.end = head;
	bpf_loop(QUEUE_LOOK, queue_look, &walk, 0);
	if (!DRY && walk.dead)
		__sync_val_compare_and_swap(&binding->queue_tail, seen, tail + walk.dead);
	if (walk.found || walk.next == head)
		return walk.found;
	walk.leading = false;
	walk.step = -1;
	walk.end = walk.next - 1; /* where the first look ended */
	walk.next = head - 1;
	bpf_loop(QUEUE_LOOK, queue_look, &walk, 0);
	return walk.found;
}

static __always_inline void claim_trace(__u32 slot)
{
	struct reservation *r = reservation_at(slot);
	struct claims claims = claims_of(r ? *(const volatile __u64 *)&r->claims : 0);

	if (r)
		trace_step(TRACE_CLAIM, 0, r->asker, 0,
			   claims.left + (claims.state == CLAIMS_SHARED ? claims.merged : 0));
}

/* What the client may claim of the binding: what it has asked for itself first. */
__noinline __u32 claim_find(const struct claimer *who)
{
	struct binding *binding;
	__u32 slot;

	if (!who)
		return 0;
	binding = binding_at(who->binding);
	if (!binding || !binding_is(binding, who->number))
		return 0;
	slot = reservation_own(who);
	if (!slot)
		slot = queue_find(who, binding);
	if (DRY && slot)
		claim_trace(slot);
	return slot;
}

/* Takes a claim; false where there is none. */
static __always_inline bool claim_take(struct claimer *who)
{
	for (int tries = 0; tries < 4; tries++) {
		__u32 slot = claim_find(who);

		if (!slot)
			return false;
		if (reservation_claim(slot, who))
			return true;
	}
	return false;
}

/* A known client that has asked for itself uses its answer up, so that nobody else comes by it. */
static __always_inline void claim_own(struct claimer *who)
{
	__u32 slot = reservation_own(who);

	if (slot)
		reservation_claim(slot, who);
}
