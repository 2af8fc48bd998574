/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tells of mappings and sessions that begin, change and end, while somebody listens. Each CPU writes into a row of its own,
 * where nothing is locked. What finds no place there, and what is to wake
 * who reads, goes into the ring; what that has no room for is counted. Nobody is told of a session whose client, or host, has
 * proved nothing yet: anybody can send a SYN.
 */
#pragma once

#include "../include/maps.h"

/* Whether somebody listens to it: all that a packet pays when nobody does, where something begins or ends. */
static __always_inline bool is_watched(enum watch what)
{
	struct control *control = DRY ? 0 : control_get();

	return control && (*(volatile __u32 *)&control->watch & what);
}

#define TELL_WAKE_SHIFT 24 /* ns: 17 ms */

/*
 * A place in the row of this CPU; null where it is full, or who reads is to be woken: by each CPU once in a while, as it looks
 * by itself while events come.
 */
static __always_inline struct flow_event *tell_place(struct budget *budget, __u64 now)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct flow_row *row = bpf_map_lookup_elem(&flow_rows, &cpu);

	if (!budget || !row || !fixed.rows || budget->flows_told != (__u32)(now >> TELL_WAKE_SHIFT) ||
	    budget->flows_placed - *(volatile __u64 *)&row->taken >= FLOW_ROW)
		return 0;
	return &row->event[budget->flows_placed & (FLOW_ROW - 1)];
}

/* Lets it be read: all of it is written. */
static __always_inline void tell_placed(struct budget *budget, struct flow_event *event)
{
	barrier();
	*(volatile __u32 *)&event->turn = ++budget->flows_placed;
}

static __always_inline struct flow_event *tell_reserve(__u32 told)
{
	struct flow_event *event = bpf_ringbuf_reserve(&flow_events, sizeof(*event), 0);

	if (!event)
		count_statistic(STATISTIC_FLOWS_UNTOLD);
	if (!event && told == TOLD_BOTH_BEGIN)
		count_statistic(STATISTIC_FLOWS_UNTOLD);
	return event;
}

static __always_inline void tell_submit(struct budget *budget, struct flow_event *event, __u64 now)
{
	__u32 window = now >> TELL_WAKE_SHIFT;
	__u64 wakes = BPF_RB_FORCE_WAKEUP;

	if (budget && budget->flows_told == window)
		wakes = BPF_RB_NO_WAKEUP;
	if (budget)
		budget->flows_told = window;
	event->turn = 0;
	bpf_ringbuf_submit(event, wakes);
}

static __always_inline struct budget *tell_budget(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&budgets, &zero);
}

static __always_inline void tell_of_mapping(struct flow_event *event, __u64 now, const struct mapping_key *key,
					    __u16 port, __u32 told)
{
	__u32 outbound = key->outbound;
	struct slot *slot;

	event->at = now;
	event->private_address = key->address;
	event->private_port = key->port;
	event->told = told;
	event->remote_address = 0;
	event->external_port = port;
	event->remote_port = 0;
	event->protocol = key->protocol;
	event->origin = 0;
	event->tcp = 0;
	event->flags = 0;
	event->name = 0;
	slot = bpf_map_lookup_elem(&slot_table, &outbound);
	event->external_address = slot ? slot->address : 0;
}

/* A mapping of an outbound address's slot, by that address's port. */
__noinline int tell_mapping(const struct mapping_key *key, __u16 port, __u32 told)
{
	struct budget *budget = tell_budget();
	__u64 now = bpf_ktime_get_ns();
	struct flow_event *event;

	if (!key)
		return 0;
	event = tell_place(budget, now);
	if (event) {
		tell_of_mapping(event, now, key, port, told);
		tell_placed(budget, event);
		return 1;
	}
	event = tell_reserve(told);
	if (!event)
		return 0;
	tell_of_mapping(event, now, key, port, told);
	tell_submit(budget, event, now);
	return 1;
}

static __always_inline void tell_of_session(struct flow_event *event, __u64 now, const struct session *session,
					    __u32 told)
{
	event->at = now;
	event->private_address = session->private_address;
	event->private_port = session->private_port;
	event->told = told;
	event->external_address = session->external_address;
	event->remote_address = session->remote_address;
	event->external_port = session->external_port;
	event->remote_port = session->remote_port;
	event->protocol = session->protocol;
	event->origin = session->origin;
	event->tcp = session->life.as.tcp;
	event->flags = session->marks.as.flags;
	event->name = 0;
	if (session->origin == ORIGIN_POOL)
		event->name = session->holds.pool.service;
	else if (session->origin == ORIGIN_WEB)
		event->name = session->holds.web.name;
}

__noinline int tell_session(const struct session *session, __u32 told)
{
	struct budget *budget = tell_budget();
	__u64 now = bpf_ktime_get_ns();
	struct flow_event *event;

	if (!session)
		return 0;
	event = tell_place(budget, now);
	if (event) {
		tell_of_session(event, now, session, told);
		tell_placed(budget, event);
		return 1;
	}
	event = tell_reserve(told);
	if (!event)
		return 0;
	tell_of_session(event, now, session, told);
	tell_submit(budget, event, now);
	return 1;
}

/*
 * A session that begins, and a mapping that was made for it: of both in one record, as the precise clock and a place that
 * another CPU has read cost most of what telling does.
 */
static __always_inline void tell_opened(const struct session *session, bool mapped)
{
	bool sessions = is_watched(WATCH_SESSIONS) && !(session->marks.as.flags & SESSION_TENTATIVE);

	if (mapped && is_watched(WATCH_MAPPINGS))
		tell_session(session, sessions ? TOLD_BOTH_BEGIN : TOLD_MAPPING_BEGINS);
	else if (sessions)
		tell_session(session, TOLD_SESSION_BEGINS);
}

/* A session that begins, changes or ends, unless it is tentative. */
static __always_inline void tell(const struct session *session, enum told told)
{
	if (is_watched(WATCH_SESSIONS) && !(session->marks.as.flags & SESSION_TENTATIVE))
		tell_session(session, told);
}
