/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Subscribers: what each host inside has open (RFC 6888 REQ-4). Its sessions are those that it opened, until their records
 * end: closed ones take their places in the table, too. Its ports are its mappings, those that rest among them. An entry is
 * looked up for a new session, and when one ends, never for another packet.
 */
#pragma once

#include "record_bucket.h"
#include "../nat/port.h"
#include "tally.h"

static __always_inline __u64 subscriber_hash(__u32 address)
{
	return hash_words(address, 0); /* share_of has it, too */
}

static __always_inline struct tally *subscriber_find(__u32 address)
{
	return tally_find(&subscriber_table, subscriber_hash(address), fixed.subscriber_buckets, address);
}

/* Reads what subscriber_enter will. */
static __always_inline void subscriber_touch(__u32 address)
{
	tally_touch(&subscriber_table, subscriber_hash(address), fixed.subscriber_buckets);
}

/* Where the shares have the count of a protocol's ports. */
static __always_inline __u32 subscriber_bit(__u8 protocol)
{
	return port_protocol(protocol) * 16;
}

/* What is not a port refers to the entry as a session. */
static __always_inline __s32 subscriber_sessions(const struct tally *tally, __u64 shares)
{
	return tally_uses_of(tally).uses.count - (shares & 0xffff) - (shares >> 16 & 0xffff) - (shares >> 32 & 0xffff);
}

static __always_inline bool port_is_low(const struct mapping_key *host)
{
	return bpf_ntohs(host->port) < PORT_CLASS;
}

/* Whether a host that has so many ports of the protocol may have one more of those that are left. */
static __always_inline bool subscriber_may_map(const struct mapping_key *host, __u32 has, __u32 limit,
					       const struct settings *settings)
{
	if (has >= limit)
		return false;
	/* First as if its address were shared, which leaves less: then nobody need look whether it is. */
	if (port_is_low(host) || threshold_allows(has, limit, port_room(host, settings, true)))
		return true;
	return !port_is_shared(slot_address(host->outbound), host->protocol) &&
	       threshold_allows(has, limit, port_room(host, settings, false));
}

/* Why the host may not open one session more, with one mapping more where it takes one. */
static __always_inline enum reason subscriber_judge(const struct tally *tally, const struct mapping_key *host,
						    bool maps, const struct settings *settings, __u32 tick)
{
	const struct limits *limits = &settings->limits;
	__u64 shares = *(const volatile __u64 *)&tally->shares;
	__s32 sessions = subscriber_sessions(tally, shares);

	if (sessions < 0)
		sessions = 0;
	if ((__u32)sessions >= limits->host_sessions ||
	    !threshold_allows(sessions, limits->host_sessions, record_room(true)))
		return REASON_DROP_HOST_SESSIONS;
	if (tally_rate(shares, tick) >= limits->host_rate)
		return REASON_DROP_HOST_RATE;
	if (maps && !subscriber_may_map(host, shares >> subscriber_bit(host->protocol) & 0xffff,
					limits->host_ports[port_protocol(host->protocol)], settings))
		return REASON_DROP_HOST_PORTS;
	return REASON_NONE;
}

/* The same of one that cannot be counted: it gets nothing of what is short. */
static __always_inline enum reason subscriber_judge_uncounted(const struct mapping_key *host, bool maps,
							      const struct settings *settings)
{
	const struct limits *limits = &settings->limits;

	if (limits->host_sessions != NO_LIMIT && room_is_short(record_room(true)))
		return REASON_DROP_HOST_SESSIONS;
	if (maps && limits->host_ports[port_protocol(host->protocol)] != NO_LIMIT && !port_is_low(host) &&
	    room_is_short(port_room(host, settings, port_is_shared(slot_address(host->outbound), host->protocol))))
		return REASON_DROP_HOST_PORTS;
	return REASON_NONE;
}

static __always_inline void subscriber_trace(const struct tally *tally, const struct mapping_key *host,
					     enum reason reason)
{
	__u64 shares = *(const volatile __u64 *)&tally->shares;

	trace_step(TRACE_LIMIT, reason, host->address, 0,
		   reason == REASON_DROP_HOST_PORTS ? shares >> subscriber_bit(host->protocol) & 0xffff
						    : (__u64)subscriber_sessions(tally, shares));
}

/*
 * Counts a session that the host is about to open, and its new mapping; or the reason why it may not. SESSION_COUNTED in *flags,
 * unless there was no place to count it.
 */
__noinline enum reason subscriber_enter(const struct mapping_key *host, bool maps, const struct settings *settings,
					__u32 tick, __u8 *flags)
{
	struct tally *tally;
	enum reason reason;

	if (!host || !settings || !flags)
		return REASON_DROP_INTERNAL;
	tally = subscriber_find(host->address);
	if (tally) {
		reason = subscriber_judge(tally, host, maps, settings, tick);
		if (DRY && reason != REASON_NONE)
			subscriber_trace(tally, host, reason);
		if (reason != REASON_NONE)
			return reason;
		if (!tally_change(tally, host->address, 1 + maps))
			tally = 0;
	}
	if (!tally)
		tally = tally_take(&subscriber_table, subscriber_hash(host->address), fixed.subscriber_buckets,
				   host->address, 1 + maps);
	if (!tally) {
		reason = subscriber_judge_uncounted(host, maps, settings);
		if (reason == REASON_NONE)
			count_statistic(STATISTIC_SUBSCRIBERS_FULL);
		return reason;
	}
	*flags |= SESSION_COUNTED;
	tally_note(tally, maps ? 1ULL << subscriber_bit(host->protocol) : 0, tick);
	return REASON_NONE;
}

static __always_inline bool bucket_leave(struct tally_bucket *bucket, __u32 address, __u32 bit, bool port)
{
	for (int i = 0; bucket && i < TALLY_WAYS; i++) {
		struct tally *tally = &bucket->tally[i];

		if (tally_uses_of(tally).uses.address != address)
			continue;
		if (port ? !tally_return(tally, bit) : subscriber_sessions(tally, tally->shares) <= 0)
			continue;
		if (tally_change(tally, address, -1))
			return true;
	}
	return false;
}

/* A session of the host has ended, or, port, a mapping of the protocol. */
__noinline int subscriber_leave(__u32 address, __u8 protocol, bool port)
{
	__u64 hash = subscriber_hash(address);
	__u32 bit = subscriber_bit(protocol);

	for (int choice = 0; choice < TALLY_CHOICES; choice++)
		if (bucket_leave(tally_bucket(&subscriber_table, hash, fixed.subscriber_buckets, choice), address, bit,
				 port))
			return true;
	return false;
}
