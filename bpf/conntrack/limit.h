/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What one may have of sessions that are opened from outside: a remote address, whose open ones are counted in a table
 * like that of subscribers, a binding and a mapping, which count their own, and a host that dnat or 1:1 leads to. Open is
 * what stands (standing.h): neither a closed connection nor one whose client has proved nothing; such a host has all that
 * there are. What comes by a hairpin counts with the host that sent it.
 */
#pragma once

#include "index.h"
#include "record.h"
#include "remote_seen.h"
#include "tally.h"

static __always_inline __u64 remote_hash(__u32 address)
{
	return hash_words(address, 1);
}

static __always_inline struct tally *remote_tally(__u32 address)
{
	return tally_find(&remote_table, remote_hash(address), fixed.remote_buckets, address);
}

/* Reads what opening a session of it will. */
__noinline int remote_touch(__u32 address)
{
	tally_touch(&remote_table, remote_hash(address), fixed.remote_buckets);
	seen_touch(address);
	return 0;
}

/* Why a remote address may not have one session more: it has what it may, or it cannot be counted while sessions are short. */
static __always_inline enum reason remote_weigh(__u32 address, const struct settings *settings, __u32 tick)
{
	struct tally *tally = remote_tally(address);
	struct room room = record_room(false);
	__u32 limit, count;

	if (!settings)
		return REASON_DROP_INTERNAL;
	limit = settings->limits.remote_sessions;
	if (!tally)
		return limit == NO_LIMIT || !room_is_short(room) ||
				       tally_has_empty(&remote_table, remote_hash(address), fixed.remote_buckets)
			       ? REASON_NONE
			       : REASON_DROP_REMOTE_SESSIONS;
	count = tally_uses_of(tally).uses.count;
	if (count >= limit || !threshold_allows(count, limit, room))
		return REASON_DROP_REMOTE_SESSIONS;
	if (tally_rate(*(volatile __u64 *)&tally->shares, tick) >= settings->limits.remote_rate)
		return REASON_DROP_REMOTE_RATE;
	return REASON_NONE;
}

__noinline enum reason remote_judge(__u32 address, const struct settings *settings, __u32 tick)
{
	enum reason reason = remote_weigh(address, settings, tick);

	if (DRY && reason != REASON_NONE) {
		struct tally *tally = remote_tally(address);

		trace_step(TRACE_LIMIT, reason, address, 0, tally ? tally_uses_of(tally).uses.count : 0);
	}
	return reason;
}

/* One open session more; false where there is no place to count it. */
__noinline bool remote_join(__u32 address, __u32 tick)
{
	struct tally *tally = remote_tally(address);

	if (!tally || !tally_change(tally, address, 1))
		tally = tally_take(&remote_table, remote_hash(address), fixed.remote_buckets, address, 1);
	if (!tally) {
		count_statistic(STATISTIC_REMOTES_FULL);
		return false;
	}
	tally_note(tally, 0, tick);
	return true;
}

/* One less. */
__noinline bool remote_leave(__u32 address)
{
	return tally_leave(&remote_table, remote_hash(address), fixed.remote_buckets, address);
}

static __always_inline __u64 led_hash(__u32 address)
{
	return hash_words(address, 2);
}

static __always_inline struct tally *led_tally(__u32 address)
{
	return tally_find(&led_table, led_hash(address), LED_BUCKETS, address);
}

/* One session more for a host that dnat or 1:1 leads to; false where it has all that it may, or there is no place. */
__noinline bool led_join(__u32 address, const struct settings *settings)
{
	struct tally *tally = led_tally(address);

	if (!settings)
		return false;
	if (tally && tally_uses_of(tally).uses.count >= settings->limits.binding_sessions)
		return false;
	return (tally && tally_change(tally, address, 1)) ||
	       tally_take(&led_table, led_hash(address), LED_BUCKETS, address, 1);
}

/* How many eighths of what it may have such a host has. */
static __always_inline __u32 led_eighths(__u32 address, const struct settings *settings)
{
	struct tally *tally = led_tally(address);

	return tally ? (__u64)tally_uses_of(tally).uses.count * 8 / settings->limits.binding_sessions : 0;
}

__noinline bool led_leave(__u32 address)
{
	return tally_leave(&led_table, led_hash(address), LED_BUCKETS, address);
}
