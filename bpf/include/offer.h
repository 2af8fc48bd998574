/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the daemon does with reservations: offer one before it answers a name (I6), add a claim to it, withdraw
 * it and learn what became of it. The daemon calls one at a time.
 */
#pragma once

#include "reservation.h"

#define ENOENT 2
#define EEXIST 17
#define ENOSPC 28

static __always_inline struct reservation_key offer_key(const struct reservation *r)
{
	return (struct reservation_key){.address = r->address, .port = r->port, .protocol = r->protocol};
}

static __always_inline int offer_run(struct reservation_request *request)
{
	struct reservation *r = reservation_at(request->slot);
	struct reservation_key key;

	if (!request->slot || !r)
		return -ENOENT;
	if (claims_of(r->claims).open)
		return -EEXIST;
	/* Whoever still reads the slot's last reservation sees the id change. */
	*(volatile __u64 *)&r->id = 0;
	request->reservation.claims = 0;
	request->claims.use = request->reservation.id >> 32;
	__builtin_memcpy(r, &request->reservation, sizeof(*r));
	*(volatile __u64 *)&r->claims = claims_word(request->claims);
	key = offer_key(r);
	if (!index_insert(&reservation_index, reservation_place(&key), request->slot)) {
		r->claims = 0;
		return -ENOSPC;
	}
	return 0;
}

/* Raises the claims granted in all to the request's; -ENOENT when the reservation is spent or gone. */
static __always_inline int extend_run(struct reservation_request *request)
{
	struct reservation *r = reservation_at(request->slot);
	__u16 granted = request->claims.left;

	if (!r || r->id != request->reservation.id)
		return -ENOENT;
	for (int tries = 0; tries < 8; tries++) {
		__u64 before = *(volatile __u64 *)&r->claims;
		struct claims claims = claims_of(before);

		if (!claims.open || !claims.left)
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
	struct reservation_key key;

	if (!request->slot || !r || r->id != request->reservation.id)
		return -ENOENT;
	for (int tries = 0; tries < 8; tries++) {
		__u64 before = *(volatile __u64 *)&r->claims;
		struct claims closed = claims_of(before);

		if (!closed.open)
			return -ENOENT;
		closed.open = 0;
		if (__sync_val_compare_and_swap(&r->claims, before, claims_word(closed)) != before)
			continue;
		key = offer_key(r);
		index_remove(&reservation_index, reservation_place(&key), request->slot);
		request->claims = claims_of(before);
		request->reservation.claimed_at = r->claimed_at;
		request->reservation.merged_until = r->merged_until;
		return 0;
	}
	return -ENOENT;
}
