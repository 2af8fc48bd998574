/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finding pacts: by proxy address for a packet from inside, by tag for one from another edge. Only programs of edges, and those
 * of the daemon, may come to these tables: the others have as many as the kernel allows.
 */
#pragma once

#include "../include/clock.h"
#include "../include/maps.h"
#include "../guard/ban.h"
#include "proxy.h"

#define EDGE_FRAGMENT_TICKS (__u32)((30000000000ULL >> TICK_SHIFT) + 1) /* 30 s, as Linux keeps them */

static __always_inline struct pact *pact_at(__u32 number)
{
	return bpf_map_lookup_elem(&pact_table, &number);
}

/* It has not ended, nor has its lease. */
static __always_inline bool pact_stands(const struct pact *pact, __u32 tick)
{
	return *(volatile __u32 *)&pact->own_tag && (__s32)(pact->until - tick) > 0;
}

/* The pact that a proxy address stands for, whoever's it is; 0: there is none. */
static __always_inline struct pact *pact_of_proxy(const struct control *control, __u32 proxy, __u32 tick)
{
	__u32 place = bpf_ntohl(proxy) - control->proxy_first, group = place / PROXY_GROUP;
	struct proxy_places *places = bpf_map_lookup_elem(&proxy_table, &group);
	struct pact *pact;

	if (!places)
		return 0;
	pact = pact_at(*(volatile __u16 *)&places->pact[place % PROXY_GROUP]);
	return pact && pact_stands(pact, tick) && pact->proxy == proxy ? pact : 0;
}

/* The one of our tag; 0: there is none any more. */
static __always_inline struct pact *pact_of_tag(__u32 tag, __u32 tick)
{
	struct pact *pact = pact_at(tag & (PACT_NUMBERS - 1));

	return pact && tag && pact_stands(pact, tick) && *(volatile __u32 *)&pact->own_tag == tag ? pact : 0;
}

/* Both edges keep what is used. */
static __always_inline void pact_touch(struct pact *pact, __u32 tick)
{
	if (!DRY && pact->used != tick)
		pact->used = tick;
}

/*
 * Why a fragment but the first may not pass, of which nobody can tell the session: the pact lets none of its direction open
 * one, nor has one of the other's had a packet while fragments are kept; flag: PACT_IN or PACT_OUT.
 */
static __always_inline enum reason pact_fragment(const struct pact *pact, __u8 flag, __u32 tick)
{
	if (is_banned(pact->proxy))
		return REASON_DROP_BANNED;
	return (pact->flags & flag) || (pact->used && tick - pact->used < EDGE_FRAGMENT_TICKS)
		       ? REASON_NONE
		       : REASON_DROP_PACT_DIRECTION;
}

/* Whether the session was opened by this pact: one of its number, with another peer's tag, has sessions of its own. */
static __always_inline bool session_is_by(const struct session *session, __u32 own_tag, __u32 peer_tag)
{
	return session_is_edge(session->origin) && session->holds.edge.tag == own_tag &&
	       session->holds.edge.peer_tag == peer_tag;
}

/* Whether the session's pact has ended: its next packet opens another, or none. */
static __always_inline bool edge_is_void(const struct session *session, __u32 tick)
{
	struct pact *pact;

	if (!session_is_edge(session->origin))
		return false;
	pact = pact_of_tag(session->holds.edge.tag, tick);
	return !pact || pact->peer_tag != session->holds.edge.peer_tag;
}
