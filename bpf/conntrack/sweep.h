/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ageing: the daemon runs this program over the tables, a chunk at a time. It ends what is past its time, or what
 * an operator wants ended, gives back records that have rested, and ends the quarantine of ports.
 */
#pragma once

#include "flow.h"
#include "idle.h"
#include "../nat/own.h"
#include "../tunnel/pact.h"

#define REST 4 /* ticks that an ended record rests: a packet's program ends within microseconds */

#define SWEEP_SEES 128 /* ticks, half a minute: more than between two sweeps */

struct sweep {
	struct settings *settings;
	__u32 first;
	__u32 tick;
	__u32 freed;
	__u32 changes;
	__u32 last;
	__u32 busy;
	__u32 use;
	__u32 address;
	__u32 generation;
	__u32 visits;
	__u32 word;
	__u64 used;    /* of the word that the walk is at */
	__u64 rested;  /* of these, the ones that can be used again */
	__s32 gone[2]; /* how many these are, opened from outside and from inside */
	bool end;
};

/* After enough changes the run ends early, and the daemon goes on from there. */
static __always_inline long sweep_changed(struct sweep *sweep, int freed)
{
	sweep->freed += freed;
	return ++sweep->changes >= SWEEP_MOST_CHANGES;
}

/* Since when, in ticks; a packet may have come after the sweep read the clock: that is not long ago. */
static __always_inline bool sweep_is_past(const struct sweep *sweep, __u32 since, __u32 limit)
{
	__s32 age = sweep->tick - since;

	return age > 0 && (__u32)age > limit;
}

static __always_inline bool sweep_is_due(const struct sweep *sweep, const struct session *session)
{
	if (session->life.as.phase != PHASE_LIVE)
		return false;
	if (sweep->address && (session->external_address != sweep->address || session_is_lent(session->origin)))
		return false;
	if (sweep->end)
		return !sweep->use || sweep->use == session->life.as.version + 1U;
	return sweep_is_past(sweep, session->life.as.stamp, session_timeout(sweep->settings, session)) ||
	       own_is_void(session, sweep->generation) || edge_is_void(session, sweep->tick);
}

/* When an operator ends sessions, the daemon waits for the programs that run, and sweeps: that is rest enough. */
static __always_inline void sweep_rested(const struct sweep *sweep, struct session *ended)
{
	if (ended && ended->life.as.phase == PHASE_RESTING)
		ended->life.as.stamp = sweep->tick - REST - 1;
}

static __noinline int sweep_live(__u32 number, struct session *session, struct sweep *sweep)
{
	struct stripe *stripe;
	struct settings *settings = sweep ? sweep->settings : 0;
	int freed = 0;

	if (!session || !sweep || !settings)
		return 0;
	stripe = lock_stripe(endpoint_hash(session->private_address, session->private_port, session->protocol));
	if (!stripe || !lock_take(stripe)) {
		sweep->busy++;
		return 0;
	}
	/* Again under the stripe: a packet may have come meanwhile. */
	if (sweep_is_due(sweep, session)) {
		freed = session_end(number, session, settings, sweep->tick);
		if (sweep->end) {
			sweep_rested(sweep, session);
			if (session_has_mapping(session->origin))
				sweep_rested(sweep, session_at(session->holds.mapping.filter));
			else if (session_is_guest(session))
				sweep_rested(sweep, session_at(session->holds.guest.owner));
		}
	}
	lock_release(stripe);
	return freed;
}

static long sweep_session(__u32 bit, struct sweep *sweep)
{
	__u32 number = sweep->word * 64 + bit;
	struct session *session;

	if (!(sweep->used >> (bit & 63) & 1))
		return 0;
	session = session_at(number);
	if (!session)
		return 1;
	sweep->visits++;
	switch (session->life.as.phase) {
	case PHASE_LIVE:
		if (sweep_is_due(sweep, session))
			sweep_changed(sweep, sweep_live(number, session, sweep));
		else if (sweep->tick - session->life.as.stamp < SWEEP_SEES)
			remote_see(session->remote_address);
		break;
	case PHASE_RESTING:
		if (!sweep->end && sweep_is_past(sweep, session->life.as.stamp, REST)) {
			*(volatile __u8 *)&session->life.as.phase = PHASE_FREE;
			sweep->rested |= 1ULL << (bit & 63);
			sweep->gone[session_is_outbound(session->origin)]++;
		}
		break;
	}
	return 0;
}

/* The records in use among 64, as far as they are asked for. */
static long sweep_word(__u32 round, struct sweep *sweep)
{
	__u32 word = sweep->first / 64 + round;
	__u64 *used = bpf_map_lookup_elem(&session_bitmap, &word);

	sweep->word = word;
	sweep->used = used ? *(volatile __u64 *)used : 0;
	if (word == sweep->first / 64)
		sweep->used &= ~0ULL << (sweep->first & 63);
	if (word == sweep->last / 64)
		sweep->used &= ~0ULL >> (63 - (sweep->last & 63));
	if (!sweep->used)
		return 0;
	sweep->rested = 0;
	bpf_loop(64, sweep_session, sweep, 0);
	if (sweep->rested) {
		record_release_some(word, sweep->rested);
		record_count(false, -sweep->gone[false]);
		record_count(true, -sweep->gone[true]);
		sweep->gone[false] = 0;
		sweep->gone[true] = 0;
	}
	return sweep->visits >= SWEEP_MOST || sweep->changes >= SWEEP_MOST_CHANGES;
}

/* Records from first to last, in words of 64; returns how many it came to. */
static __always_inline __u32 sweep_sessions(struct sweep *sweep)
{
	__u32 words = sweep->last / 64 - sweep->first / 64 + 1;
	__u32 came;

	words = bpf_loop(words > SWEEP_MOST_WORDS ? SWEEP_MOST_WORDS : words, sweep_word, sweep, 0);
	came = (sweep->first / 64 + words) * 64 - sweep->first;
	return came > sweep->last - sweep->first ? sweep->last - sweep->first + 1 : came;
}

static __always_inline bool quarantine_is_over(__u32 slot, struct endpoint endpoint, const struct sweep *sweep)
{
	union mapping_use *use = mapping_use(slot);

	return endpoint.phase == PHASE_QUARANTINED && use &&
	       (sweep->end || sweep_is_past(sweep, use->ended, sweep->settings->port_quarantine));
}

static long sweep_mapping(__u32 round, struct sweep *sweep)
{
	__u32 slot = sweep->first + round;
	struct endpoint endpoint = mapping_at(slot);
	struct stripe *stripe;
	int freed = 0;

	if (!quarantine_is_over(slot, endpoint, sweep))
		return 0;
	stripe = lock_stripe(endpoint_hash(endpoint.address, endpoint.port, slot_protocol(slot)));
	if (!stripe || !lock_take(stripe))
		return 0;
	endpoint = mapping_at(slot);
	if (quarantine_is_over(slot, endpoint, sweep)) {
		mapping_free(slot);
		freed = 1;
	}
	lock_release(stripe);
	return sweep_changed(sweep, freed);
}

/* The frame holds a struct sweep_request. */
static __always_inline int sweep_run(struct xdp_md *ctx)
{
	struct sweep_request *request = (void *)(long)ctx->data;
	struct control *control = control_get();
	struct sweep sweep = {};
	__u32 count;

	if ((void *)(request + 1) > (void *)(long)ctx->data_end || !control)
		return XDP_ABORTED;
	sweep.generation = *(volatile __u32 *)&control->generation;
	sweep.settings = settings_get(sweep.generation);
	if (!sweep.settings)
		return XDP_ABORTED;
	sweep.first = request->first;
	sweep.tick = clock_tick();
	count = request->count;
	sweep.last = sweep.first + count - 1;
	sweep.end = request->table == SWEEP_END || request->table == SWEEP_END_RESTS;
	sweep.use = request->use;
	sweep.address = request->address;
	if (request->table == SWEEP_MAPPINGS || request->table == SWEEP_END_RESTS)
		count = bpf_loop(count > SWEEP_MOST ? SWEEP_MOST : count, sweep_mapping, &sweep, 0);
	else if (count)
		count = sweep_sessions(&sweep);
	request = (void *)(long)ctx->data;
	if ((void *)(request + 1) > (void *)(long)ctx->data_end)
		return XDP_ABORTED;
	request->count = count;
	request->freed = sweep.freed;
	request->busy = sweep.busy;
	return XDP_PASS;
}
