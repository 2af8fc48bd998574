/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tells of mappings and sessions that begin, change and end, while somebody listens. What the ring has no room for is
 * counted. Nobody is told of a session whose client, or host, has proved nothing yet: anybody can send a SYN.
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

/* Whether who reads is woken: by each CPU once in a while, as it looks by itself while events come. */
static __always_inline __u64 tell_wakes(__u64 now)
{
	__u32 zero = 0, window = now >> TELL_WAKE_SHIFT;
	struct budget *budget = bpf_map_lookup_elem(&budgets, &zero);

	if (budget && budget->flows_told == window)
		return BPF_RB_NO_WAKEUP;
	if (budget)
		budget->flows_told = window;
	return BPF_RB_FORCE_WAKEUP;
}

static __always_inline struct flow_event *tell_begin(enum told told)
{
	struct flow_event *event = bpf_ringbuf_reserve(&flow_events, sizeof(*event), 0);

	if (!event) {
		count_statistic(STATISTIC_FLOWS_UNTOLD);
		return 0;
	}
	__builtin_memset(event, 0, sizeof(*event));
	event->at = bpf_ktime_get_ns();
	event->told = told;
	return event;
}

/* A mapping of an outbound address's slot. */
__noinline int tell_mapping(const struct endpoint *endpoint, __u32 outbound, __u16 port, __u8 protocol, __u32 told)
{
	struct flow_event *event = endpoint ? tell_begin(told) : 0;
	struct slot *slot = bpf_map_lookup_elem(&slot_table, &outbound);

	if (!event)
		return 0;
	event->private_address = endpoint->address;
	event->private_port = endpoint->port;
	event->external_address = slot ? slot->address : 0;
	event->external_port = port;
	event->protocol = protocol;
	bpf_ringbuf_submit(event, tell_wakes(event->at));
	return 1;
}

__noinline int tell_session(const struct session *session, __u32 told)
{
	struct flow_event *event = session ? tell_begin(told) : 0;

	if (!event)
		return 0;
	event->private_address = session->private_address;
	event->private_port = session->private_port;
	event->external_address = session->external_address;
	event->external_port = session->external_port;
	event->remote_address = session->remote_address;
	event->remote_port = session->remote_port;
	event->protocol = session->protocol;
	event->origin = session->origin;
	event->tcp = session->life.as.tcp;
	event->flags = session->marks.as.flags;
	if (session->origin == ORIGIN_POOL)
		event->name = session->holds.pool.service;
	else if (session->origin == ORIGIN_WEB)
		event->name = session->holds.web.name;
	bpf_ringbuf_submit(event, tell_wakes(event->at));
	return 1;
}

/* A session that begins, changes or ends, unless it is tentative. */
static __always_inline void tell(const struct session *session, enum told told)
{
	if (is_watched(WATCH_SESSIONS) && !(session->marks.as.flags & SESSION_TENTATIVE))
		tell_session(session, told);
}
