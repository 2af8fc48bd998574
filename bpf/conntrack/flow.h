/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Opening and ending a session together with what it holds: index entries, mapping, filter entry. Everything
 * here runs under the stripe of the private endpoint.
 *
 * Address-dependent filtering (RFC 4787 §5) asks whether a mapping has a session to a remote address, whatever
 * the port. The first session of such a pair owns an index entry for it; later ones refer to that owner, which
 * keeps its record (PHASE_REFERENCED) until the last of them has ended.
 */
#pragma once

#include "../nat/mapping.h"
#include "guest.h"
#include "../handshake/offer.h"
#include "../pool/numbers.h"
#include "remote_seen.h"
#include "standing.h"

/* Whether a packet without a session may open one. */
static __always_inline enum reason may_open(const struct packet *packet)
{
	if (packet->link_broadcast)
		return REASON_DROP_LINK_BROADCAST;
	switch (packet->tuple.protocol) {
	case IPPROTO_TCP:
		return tcp_is_pure_syn(packet->tcp_flags) ? REASON_NONE : REASON_DROP_NOT_SYN;
	case IPPROTO_ICMP:
		return packet->reply ? REASON_DROP_NO_SESSION : REASON_NONE;
	}
	return REASON_NONE;
}

/* What a new session is made of. Stamps and deltas are filled in here. */
struct flow {
	__u32 private_address;
	__u32 remote_address;
	__u32 external_address;
	__u16 private_port;
	__u16 remote_port;
	__u16 external_port;
	__u8 protocol;
	__u8 origin;
	__u8 flags;
	__u8 opened;	   /* its session was opened, not found open */
	__u8 established;  /* its connection was open before there was a session of it */
	__u8 unbanned;	   /* bans were asked about its remote address: there is none */
	__u16 route_epoch; /* of next_hop */
	__u16 next_hop;	   /* on its way out, if it is known */
	__u16 outbound;	   /* the slot of its host's outbound address */
	__u8 mapped;	   /* mapping was made for it, and nobody was told */
	struct record_buckets buckets;
	__u32 mapping;
	__u32 policy;
	__u32 name;
	__u32 binding;	      /* its slot, from the pool, */
	__u32 number;	      /* its number, */
	__u32 place;	      /* and a place of its ring and 1, pool/ring.h */
	__u32 tick;	      /* now */
	__u32 tag;	      /* of its pact, ours */
	__u32 peer_tag;	      /* and the other edge's, ORIGIN_EDGE_OUT and ORIGIN_EDGE_IN */
	struct numbers first; /* of its client's first segment, for ORIGIN_WEB and ORIGIN_COOKIE, */
	struct offer offer;   /* and what it offered */
};

/* The one that a packet opens: too large for the stack of kernels before 6.9, which give each call 32 bytes or more. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, struct flow);
	__uint(max_entries, 1);
} new_flows SEC(".maps");

static __always_inline struct flow *flow_here(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&new_flows, &zero);
}

static __always_inline struct flow *flow_new(void)
{
	struct flow *flow = flow_here();

	if (!flow)
		return 0;
	__builtin_memset(flow, 0, sizeof(*flow));
	flow->tick = clock_tick();
	return flow;
}

static __always_inline struct session_key flow_inside_key(const struct flow *flow)
{
	return (struct session_key){flow->private_address, flow->remote_address, flow->private_port,
				    flow->remote_port,	   flow->protocol,	 KEY_INSIDE};
}

static __always_inline struct session_key flow_outside_key(const struct flow *flow)
{
	return (struct session_key){flow->external_address, flow->remote_address, flow->external_port,
				    flow->remote_port,	    flow->protocol,	  KEY_OUTSIDE};
}

/* Whether its client has to prove its address: to a web address it has, before a name was read. */
static __always_inline bool flow_is_unproved(const struct flow *flow)
{
	return (session_is_led(flow->origin) && !flow->established) ||
	       (session_is_lent(flow->origin) && (flow->flags & SESSION_TENTATIVE));
}

/* Counts the session that a flow from outside opens with its remote address, unless that has to be proved. */
static __always_inline void flow_count(struct flow *flow)
{
	if (!DRY && !(flow->flags & SESSION_HAIRPIN) && !flow_is_unproved(flow) &&
	    remote_join(flow->remote_address, flow->tick))
		flow->flags |= SESSION_COUNTED;
}

/*
 * Whether what comes back is of another session: a chain has opened it (dnat names the port, or has named it), or, where
 * there are no ports, another host.
 */
__noinline bool flow_is_taken(const struct flow *flow)
{
	struct control *control = control_get();
	struct session_key key;

	if (!flow || !control || (!control->excluded_ports && !is_basic(flow->protocol)))
		return false;
	key = flow_outside_key(flow);
	return session_find_indexed(&key) != 0;
}

/* What its client was promised, and has offered, of a session whose handshake the data plane has answered. */
static __always_inline void session_offer(struct session *session, const struct flow *flow)
{
	session->holds.offered.number = flow->first.acknowledges - 1;
	session->holds.offered.begun = flow->first.sequence - 1;
	session->holds.offered.client_scale = flow->offer.scale;
	session->holds.offered.timestamps = flow->offer.timestamps;
}

static __always_inline void session_fill(struct session *session, const struct flow *flow, __u32 tick)
{
	__u16 address = checksum_delta(flow->private_address, flow->external_address);
	__u16 port = checksum_delta(flow->private_port, flow->external_port);

	if (session_is_edge(flow->origin)) /* both addresses are other ones outside */
		address = checksum_add(checksum_delta(flow->private_address, bpf_htonl(flow->tag)),
				       checksum_delta(flow->remote_address, bpf_htonl(flow->peer_tag)));
	session->private_address = flow->private_address;
	session->remote_address = flow->remote_address;
	session->external_address = flow->external_address;
	session->private_port = flow->private_port;
	session->remote_port = flow->remote_port;
	session->external_port = flow->external_port;
	session->protocol = flow->protocol;
	session->origin = flow->origin;
	session->policy = flow->policy;
	session->life.as.stamp = tick;
	session->life.as.tcp = TCP_NONE;
	if (flow->protocol == IPPROTO_TCP)
		session->life.as.tcp = flow->established ? TCP_ESTABLISHED : TCP_SYN;
	session->life.as.version++;
	session->address_delta = address;
	/* An ICMP checksum covers no addresses. */
	session->l4_delta = flow->protocol == IPPROTO_ICMP ? port : checksum_add(address, port);
	session->next_hop_out = flow->next_hop;
	session->marks.as.route_epoch = flow->route_epoch;
	session->next_hop_in = 0;
	session->marks.as.flags = flow->flags;
	__builtin_memset(&session->holds, 0, sizeof(session->holds));
	session->proof.sent = 0;
	session->opened = tick;
	if (flow->origin == ORIGIN_POOL) {
		session->holds.pool.binding = flow->binding;
		session->holds.pool.service = flow->name;
	} else if (flow->origin == ORIGIN_WEB) {
		session->holds.web.name = flow->name;
	} else if (flow->origin == ORIGIN_COOKIE) {
		session_offer(session, flow);
		session->holds.cookie.binding = flow->binding;
	} else if (session_is_edge(flow->origin)) {
		session->holds.edge.tag = flow->tag;
		session->holds.edge.peer_tag = flow->peer_tag;
	} else {
		session->holds.mapping.slot = flow->mapping;
	}
}

/*
 * Makes the filled record live, and known by its inside tuple: in its bucket it is found without the index. False when
 * the index is full; it must be unlisted even so.
 */
static __always_inline bool session_list(__u32 number, struct session *session, struct record_buckets buckets)
{
	struct session_key key = session_inside_key(session);
	union life life = session->life;
	bool overflows = !record_buckets_hold(buckets, number);

	if (overflows)
		record_bucket_overflow(buckets.first, 1);
	life.as.phase = PHASE_LIVE;
	/* A full barrier: who sees it live sees what it is filled with. */
	__sync_lock_test_and_set(&session->life.word, life.word);
	return !overflows || index_insert(&session_index, session_place(&key), number);
}

/* Nobody finds the session any more: before its mapping goes to somebody else. */
static __always_inline void session_unlist(__u32 number, struct session *session, __u32 tick)
{
	struct session_key key = session_inside_key(session);
	struct record_buckets buckets = record_buckets_inside(&key);

	session->life.as.stamp = tick;
	barrier(); /* a sweep that sees it rest sees since when */
	*(volatile __u8 *)&session->life.as.phase = PHASE_RESTING;
	barrier();
	if (record_buckets_hold(buckets, number))
		return;
	index_remove(&session_index, session_place(&key), number);
	record_bucket_overflow(buckets.first, -1);
}

/* Takes part in the filter entry of (mapping, remote address); false when the index is full. */
static __always_inline bool filter_join(__u32 number, struct session *session)
{
	struct session_key key = session_filter_key(session);
	__u32 owner = session_find_indexed(&key);
	struct session *record;

	if (owner) {
		record = session_at(owner);
		if (!record)
			return false;
		record->holds.mapping.filter_refs++;
		session->holds.mapping.filter = owner;
		return true;
	}
	session->marks.as.flags |= SESSION_FILTER_OWNER;
	session->holds.mapping.filter = number;
	session->holds.mapping.filter_refs = 1;
	if (index_insert(&session_index, session_place(&key), number))
		return true;
	session->marks.as.flags &= ~SESSION_FILTER_OWNER;
	session->holds.mapping.filter = 0;
	return false;
}

/* Ends the owner of a filter entry that no session refers to any more. */
static __always_inline void filter_end(__u32 number, struct session *owner, __u32 tick)
{
	struct session_key key = session_filter_key(owner);

	index_remove(&session_index, session_place(&key), number);
	owner->life.as.stamp = tick;
	owner->life.as.phase = PHASE_RESTING;
	count_statistic(STATISTIC_SESSIONS_FREED);
}

/* Leaves the filter entry. An owner that has ended before goes with the last who leaned on it. */
static __always_inline void filter_leave(struct session *session, __u32 tick)
{
	__u32 number = session->holds.mapping.filter;
	struct session *owner = number ? session_at(number) : 0;

	if (!owner || !owner->holds.mapping.filter_refs)
		return;
	owner->holds.mapping.filter_refs--;
	if (!owner->holds.mapping.filter_refs && owner->life.as.phase == PHASE_REFERENCED)
		filter_end(number, owner, tick);
}

/* The record of a session from the pool names its binding no longer. */
static __always_inline void pool_leave(struct session *session)
{
	struct binding *binding = binding_at(session_binding(session));

	if (!binding)
		return;
	if (session_stands(session))
		standing_leave(session, binding);
	binding_let_go(binding);
}

/* Counts it no longer with who opened it. */
static __always_inline void session_uncount(struct session *session)
{
	bool counted = session_take_mark(session, SESSION_COUNTED);

	if (session_is_led(session->origin) && !(session->marks.as.flags & SESSION_HAIRPIN))
		led_leave(session->private_address);
	if (!counted)
		return;
	if (session_is_outbound(session->origin))
		subscriber_leave(session->private_address, session->protocol, false);
	else
		remote_leave(session->remote_address);
}

__noinline int session_end(__u32 number, struct session *session, const struct settings *settings, __u32 tick)
{
	struct session_key key;

	if (!session || !settings)
		return 0;
	tell(session, TOLD_SESSION_ENDS);
	session_unlist(number, session, tick);
	session_uncount(session);
	if (session_is_listed_outside(session->origin)) {
		key = session_outside_key(session);
		index_remove(&session_index, session_place(&key), number);
		if (session_is_lent(session->origin))
			pool_leave(session);
		if (session_is_guest(session))
			guest_leave(number, session, tick);
	} else if (session_has_mapping(session->origin)) {
		mapping_release(session->holds.mapping.slot, session->origin == ORIGIN_MAPPING,
				settings->port_quarantine, tick);
		filter_leave(session, tick);
		if (session->marks.as.flags & SESSION_FILTER_OWNER) {
			if (session->holds.mapping.filter_refs)
				session->life.as.phase = PHASE_REFERENCED;
			else
				filter_end(number, session, tick);
			return 1;
		}
	}
	count_statistic(STATISTIC_SESSIONS_FREED);
	return 1;
}

/*
 * Opens the session in a record that the caller has allocated; neither tuple is in use. *number becomes 0 where it
 * cannot be found.
 */
__noinline enum reason session_open(const struct flow *flow, const struct settings *settings, __u32 *number)
{
	struct session *session;
	struct session_key key;
	enum reason reason = REASON_DROP_SESSION_INDEX_FULL;
	__u32 tick;

	if (!flow || !settings || !number)
		return REASON_DROP_INTERNAL;
	tick = flow->tick;
	session = session_entered(*number);
	if (!session)
		return REASON_DROP_INTERNAL;
	session_fill(session, flow, tick);
	if (DRY)
		return REASON_NONE;
	remote_see(flow->remote_address);
	count_statistic(STATISTIC_SESSIONS_OPENED);
	if (!session_list(*number, session, flow->buckets))
		goto full;
	if (session_is_listed_outside(flow->origin)) {
		key = session_outside_key(session);
		if (!index_insert(&session_index, session_place(&key), *number))
			goto full;
		/* Two hosts may come at once, under different stripes: one of them sees the other, or both. */
		if (is_basic(flow->protocol) && session_has_rival(&key, *number)) {
			index_remove(&session_index, session_place(&key), *number);
			reason = REASON_DROP_SESSION_CONFLICT;
			goto full;
		}
	} else if (session_has_mapping(flow->origin) && settings->filtering == FILTER_ADDRESS_DEPENDENT &&
		   !filter_join(*number, session)) {
		goto full;
	}
	tell_opened(session, flow->mapped);
	return REASON_NONE;
full:
	/* The mapping is the caller's to release. */
	session_unlist(*number, session, tick);
	count_statistic(STATISTIC_SESSIONS_FREED);
	*number = 0;
	return reason;
}

/* The same for a session by an address of many hosts. */
static __always_inline enum reason shared_session_open(const struct flow *flow, const struct settings *settings,
						       __u32 *number)
{
	if (flow_is_taken(flow)) {
		record_release(*number, session_is_outbound(flow->origin));
		*number = 0;
		return REASON_DROP_SESSION_CONFLICT;
	}
	return session_open(flow, settings, number);
}
