/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How much of what all share one may have: the dynamic threshold of shared-memory switches (Choudhury and Hahne 1998). The
 * less is left, the less is for whoever has some: a quarter of that, which is a fifth of what the others leave. However many
 * take all that they get, and N of them leave 1 / (1 + N / 4), there is something for who has nothing yet.
 */
#pragma once

#include <linux/types.h>
#include <stdbool.h>

#include "limit_types.h"

struct room {
	__u32 most; /* that all may have */
	__u32 left; /* of these */
};

/* Whether who has so many of its limit may have one more. One alone has its limit, though that may be more than a fifth of all. */
static __always_inline bool threshold_allows(__u64 has, __u64 limit, struct room room)
{
	__u64 most = room.most, left = room.left;

	if (!has || limit == NO_LIMIT || has * 4 < left)
		return true;
	if (limit > most / 8 * 7)
		limit = most / 8 * 7; /* however far above all it is set */
	return has * (most - limit) < limit * left;
}

/* Whether it is not for those whom nobody counts. */
static __always_inline bool room_is_short(struct room room)
{
	return room.left < room.most / 2;
}
