/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether a client may open a session from the pool: it is known to the binding, or there is something for it to claim.
 * TCP takes that by proof (proof.h); another protocol at once.
 */
#pragma once

#include "../conntrack/flow.h"
#include "queue.h"

/* Whether a known client's session would be one too many. */
static __always_inline enum known_answer known_look(__u32 client, __u32 number, __u8 protocol, __u32 most)
{
	__u32 place = known_find(client, number);
	struct known *known = known_at(place - 1);

	if (!place || !known)
		return KNOWN_NOT;
	if (DRY)
		trace_step(TRACE_KNOWN, 0, client, 0, known_sessions(known_life_of(known).life, protocol));
	return known_sessions(known_life_of(known).life, protocol) < most ? KNOWN_JOINED : KNOWN_LIMIT;
}

__noinline enum reason pool_admit(struct flow *flow, const struct settings *settings)
{
	struct claimer who = {};
	enum known_answer answer;
	bool tcp;

	if (!flow || !settings)
		return REASON_DROP_INTERNAL;
	tcp = flow->protocol == IPPROTO_TCP;
	answer = DRY || tcp ? known_look(flow->remote_address, flow->number, flow->protocol, settings->client_sessions)
			    : known_join(flow->remote_address, flow->number, flow->protocol, settings->client_sessions);
	if (answer == KNOWN_LIMIT)
		return REASON_DROP_CLIENT_LIMIT;
	who.at = bpf_ktime_get_ns();
	who.binding = flow->binding;
	who.number = flow->number;
	who.client = flow->remote_address;
	if (answer == KNOWN_JOINED) {
		if (!tcp) {
			claim_own(&who);
			flow->flags |= SESSION_KNOWN | SESSION_SETTLED;
		}
		return REASON_NONE;
	}
	if (tcp)
		return claim_find(&who) ? REASON_NONE : REASON_DROP_NO_RESERVATION;
	if (!claim_take(&who))
		return REASON_DROP_NO_RESERVATION;
	if (who.name)
		flow->name = who.name;
	return REASON_NONE;
}

/* Admits the flow's client; its session is about to be opened in a record that names the binding. */
static __always_inline enum reason pool_enter(struct flow *flow, const struct settings *settings)
{
	struct binding *binding = binding_at(flow->binding);
	enum reason reason;

	if (dry_is_lent())
		return REASON_NONE;
	if (binding && *(volatile __u32 *)&binding->sessions >= settings->limits.binding_sessions)
		return REASON_DROP_BINDING_SESSIONS;
	if (!binding || !binding_hold(binding, flow->number))
		return REASON_DROP_NO_BINDING;
	reason = pool_admit(flow, settings);
	if (reason != REASON_NONE)
		binding_let_go(binding);
	return reason;
}

/* What came of it: whether the session was opened. */
static __always_inline void pool_entered(const struct flow *flow, bool opened)
{
	struct binding *binding = binding_at(flow->binding);

	if (!binding)
		return;
	if (opened) {
		if (!(flow->flags & SESSION_TENTATIVE))
			standing_count(binding, 1);
		return;
	}
	if (flow->flags & SESSION_KNOWN)
		known_leave(flow->remote_address, flow->number, flow->protocol);
	binding_let_go(binding);
}
