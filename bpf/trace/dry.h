/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A dry run: a packet that nobody sent goes through the programs that all others go through, so that the daemon can
 * explain what they would do with it. For that they are compiled once more, with DRY (explain.bpf.c): what opens, claims,
 * counts or learns in the tables of the data plane looks only, and each step is written down. For all others DRY is 0,
 * and nothing of this is in the programs.
 *
 * Tables in which a dry run may leave something are its own (internal/datapath/dry.go).
 */
#pragma once

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#include "trace.h"
#include "../include/types.h"

#define DRY_RECORD 0xffffffff /* the number of what the packet opens */

#ifdef DRY

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct trace);
	__uint(max_entries, 1);
} traces SEC(".maps");

/* The session that the packet goes on with: what it opens, or a copy of the one that is open. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct session);
	__uint(max_entries, 1);
} dry_sessions SEC(".maps");

static __always_inline struct trace *trace_get(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&traces, &zero);
}

static __always_inline __u32 dry_run(void)
{
	struct trace *trace = trace_get();

	return trace ? trace->run : 0;
}

/* The record of what the packet opens. */
static __always_inline struct session *dry_record(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&dry_sessions, &zero);
}

/* What a dry run goes on with in the place of a session; its numbers of next hops are of another table. */
static __always_inline struct session *dry_copy(struct session *session)
{
	struct session *copy = dry_record();

	if (!copy || !session)
		return session;
	*copy = *session;
	copy->next_hop_in = 0;
	copy->next_hop_out = 0;
	return copy;
}

/* Whether something is taken to be lent. */
static __always_inline bool dry_is_lent(void)
{
	struct trace *trace = trace_get();

	return trace && trace->lent_host;
}

/* What that is; false where nothing is. */
static __always_inline bool dry_lent(__u32 *host, __u16 *port, bool *whole)
{
	struct trace *trace = trace_get();

	if (!trace || !trace->lent_host)
		return false;
	*host = trace->lent_host;
	*port = trace->lent_port;
	*whole = trace->lent_whole;
	return true;
}

/* On its own, for the stack of those who call it. */
__noinline int trace_write(enum trace_kind kind, __u32 says, __u32 address, __u16 port, __u32 number)
{
	struct trace *trace = trace_get();
	__u32 place;

	if (!trace)
		return 0;
	place = trace->count++;
	if (place < TRACE_STEPS)
		trace->step[place] = (struct trace_step){kind, port, says, address, number};
	return 1;
}

static __always_inline void trace_step(enum trace_kind kind, __u32 says, __u32 address, __u16 port, __u32 number)
{
	trace_write(kind, says, address, port, number);
}

#else

#define DRY 0

static __always_inline __u32 dry_run(void)
{
	return 0;
}

static __always_inline struct session *dry_record(void)
{
	return 0;
}

static __always_inline struct session *dry_copy(struct session *session)
{
	return session;
}

static __always_inline bool dry_is_lent(void)
{
	return false;
}

static __always_inline bool dry_lent(__u32 *host, __u16 *port, bool *whole)
{
	return false;
}

static __always_inline void trace_step(enum trace_kind kind, __u32 says, __u32 address, __u16 port, __u32 number)
{
}

#endif
