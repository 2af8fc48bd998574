/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether a packet of an open session may pass: its flow is judged once a generation, and the packet alone where functions see
 * its every one.
 */
#pragma once

#include "chain.h"
#include "../nat/own.h"
#include "../pool/numbers.h"

/* Whether the flow itself was judged by the generation, so that no more than one packet of it is. */
static __always_inline bool session_is_checked(const struct session *session, __u32 generation)
{
	return (*(volatile __u32 *)&session->policy ^ policy_epoch(generation)) <= POLICY_MASK;
}

/* What comes before the chains, for an open flow. */
__noinline enum reason session_stays(const struct session *session, const struct packet *packet)
{
	enum reason reason;

	if (!session || !packet)
		return REASON_DROP_INTERNAL;
	if (is_banned(session->remote_address))
		return REASON_DROP_BANNED;
	reason = service_judge(session->private_address, session->private_port, session->protocol,
			       session->origin << 8 | session->marks.as.flags, packet->generation);
	if (reason == REASON_NONE && own_is_void(session, packet->generation))
		return REASON_DROP_SERVICE_CLOSED;
	if (reason == REASON_NONE && session->origin == ORIGIN_DNAT && !chain_has_dnat(packet))
		return REASON_DROP_SERVICE_CLOSED;
	return reason;
}

/* Its flow as functions see it: of one that a chain has sent to its host as it came. On its own, for the stack. */
__noinline bool session_describe(const struct session *session, const struct packet *packet, enum nf_hook hook,
				 __u32 program)
{
	struct nf_packet *nf = nf_packet();
	struct tuple flow = {};
	bool out, sent;

	if (!session || !packet || !nf)
		return false;
	out = session_is_outbound(session->origin);
	sent = session->origin == ORIGIN_DNAT;
	flow.source = out ? session->private_address : session->remote_address;
	flow.destination = out ? session->remote_address : sent ? session->external_address : session->private_address;
	flow.source_port = out ? session->private_port : session->remote_port;
	flow.destination_port = out ? session->remote_port : sent ? session->external_port : session->private_port;
	flow.protocol = session->protocol;
	chain_describe(nf, packet, &flow, out, hook, program & (CHAINS - 1));
	chain_describe_origin(nf, session->origin, session->external_port);
	if (hook == NF_HOOK_DNAT) {
		nf->at_address = session->private_address;
		nf->at_port = session->private_port;
	}
	return true;
}

/*
 * Whether who sent a segment has seen what the other side sent last. Of a tentative session its client proves, by any number
 * that the host has sent; of others, as far as the guard knows: one number of 6,553 is believed.
 */
static __always_inline bool segment_proves(ctx_t *ctx, struct session *session, const struct packet *packet,
					   enum direction direction)
{
	if (!(packet->tcp_flags & TCP_FLAG_ACK) || session->life.as.tcp <= TCP_SYN)
		return false;
	if (__builtin_expect(session->marks.as.flags & SESSION_TENTATIVE, 0))
		return session->origin == ORIGIN_POOL && direction == DIRECTION_IN &&
		       tentative_is_proved(ctx, session, packet);
	return guard_is_seen(&session->proof.guard, packet, direction);
}

/*
 * Judges the session if the policy changed since it was judged last, or if the packet opens it anew, and else the
 * packet if functions see its every one. Which program its next one is for may be another: the functions that waited for
 * first bytes have seen them.
 */
__noinline enum reason session_judge(ctx_t *ctx, struct session *session, struct packet *packet,
				     enum direction direction, bool anew)
{
	struct nf_packet *nf = nf_packet();
	enum nf_hook hook = NF_HOOK_PACKET;
	__u32 policy, program;
	enum reason reason;
	bool out;

	if (!session || !packet || !nf)
		return REASON_DROP_INTERNAL;
	policy = *(volatile __u32 *)&session->policy;
	program = policy ^ policy_epoch(packet->generation);
	if (!program && !anew)
		return REASON_NONE;
	out = session_is_outbound(session->origin);
	if (program > POLICY_MASK || anew) {
		reason = session_stays(session, packet);
		if (reason != REASON_NONE)
			return reason;
		hook = session->origin == ORIGIN_DNAT ? NF_HOOK_DNAT : NF_HOOK_FLOW;
		program = hook == NF_HOOK_DNAT ? ENTRY_CLASSIFIER : chain_entry(packet, out);
		if (program == ENTRY_NONE) {
			trace_step(TRACE_ASK, NF_HOOK_FLOW, 0, 0, 0);
			session->policy = policy_epoch(packet->generation);
			return REASON_NONE;
		}
	}
	if (!session_describe(session, packet, hook, program))
		return REASON_DROP_INTERNAL;
	if (!anew)
		chain_describe_open(nf, out != (direction == DIRECTION_OUT), policy);
	if (!anew && packet->tcp_flags)
		nf->proves = segment_proves(ctx, session, packet, direction);
	reason = chain_ask(ctx, packet, nf);
	if (reason != REASON_NONE)
		return reason;
	if (hook == NF_HOOK_DNAT &&
	    (nf->to_address != session->private_address || chain_port(nf) != session->private_port))
		return REASON_DROP_SERVICE_CLOSED;
	if (hook != NF_HOOK_PACKET || nf->packet_program)
		session->policy = chain_policy(packet, nf);
	return REASON_NONE;
}

/*
 * Judges an ICMP error by its session. It is no packet of that: functions that see flows are still to see one. What another
 * CPU has judged meanwhile is judged once more.
 */
static __always_inline enum reason error_judge(ctx_t *ctx, struct session *session, struct packet *packet,
					       enum direction direction)
{
	__u32 policy = session->policy;
	enum reason reason = session_judge(ctx, session, packet, direction, false);

	if (session->policy != policy)
		session->policy = policy;
	return reason;
}

/* Whether a connection is to take the tuple of one that is over: to chains it is a new flow. */
static __always_inline bool session_begins_anew(const struct session *session, const struct packet *packet)
{
	return tcp_is_pure_syn(packet->tcp_flags) && tcp_is_closing(session->life.as.tcp);
}

/* Whether a packet of a session that was open before may pass; nearly all may at once. */
static __always_inline enum reason open_judge(ctx_t *ctx, struct packet *packet, struct session *session,
					      enum direction direction)
{
	bool anew = session_begins_anew(session, packet);

	if (__builtin_expect(session->policy == policy_epoch(packet->generation) && !anew, 1))
		return REASON_NONE;
	/* What either side says before it is open reaches nobody: functions are to see the first that does. */
	if (session_waits(session))
		return REASON_NONE;
	return session_judge(ctx, session, packet, direction, anew);
}

/* The same of one that goes on to somebody else (RFC 1812 section 5.3.4). */
static __always_inline enum reason forward_judge(ctx_t *ctx, struct packet *packet, struct session *session,
						 enum direction direction)
{
	if (__builtin_expect(packet->link_broadcast, 0))
		return REASON_DROP_LINK_BROADCAST;
	return open_judge(ctx, packet, session, direction);
}

/* A sender inside is told, unless its flow goes on without this packet. */
static __always_inline int forward_refuse(ctx_t *ctx, const struct packet *packet, const struct session *session,
					  enum reason reason)
{
	if (session_is_checked(session, packet->generation) && !session_begins_anew(session, packet))
		return verdict(ctx, packet, reason, SIDE_PRIVATE);
	return chain_refuse(ctx, packet, reason);
}
