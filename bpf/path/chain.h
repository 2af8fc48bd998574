/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What may pass, decided once per flow and generation: a built-in judgement, which for a session from the pool means
 * that its service is still open, and then the chain that the classifier finds, if the generation has any. Chains are
 * called: what they are to judge is described to them, they are run, and what they say is read in one place.
 */
#pragma once

#include "../answer/answer.h"
#include "../conntrack/flow.h"
#include "../include/maps.h"
#include "../packet/parse.h"

#define CHAIN_SEES 2048 /* octets of a frame that functions find in one piece, if it has as many */

/* A service is open to the generation that put it there and to older ones. how: origin << 8 | flags of the session. */
__noinline enum reason service_judge(__u32 private_address, __u16 private_port, __u8 protocol, __u16 how,
				     __u32 generation)
{
	struct service service = {.host = private_address};
	struct settings *settings = settings_get(generation);
	__u32 *known;

	if (!session_is_lent(how >> 8) && how >> 8 != ORIGIN_WEB && how >> 8 != ORIGIN_EDGE_IN)
		return REASON_NONE;
	if (!(how & SESSION_WHOLE_HOST)) {
		service.port = private_port;
		service.protocol = protocol;
	}
	known = bpf_map_lookup_elem(&service_table, &service);
	return known && settings && (__s32)(*known - settings->since) >= 0 ? REASON_NONE : REASON_DROP_SERVICE_CLOSED;
}

/*
 * What checked a session last: the low bits of the generation, whether first bytes of its flow are still waited for,
 * and the program that its every packet meets, if there is one. The fast path compares it with the generation alone.
 * Generations are told apart by 20 bits: after exactly 2^20 changes of policy, or a multiple, a session that had no packet
 * meanwhile passes for checked, a chance of one in a million for one that is idle so long.
 */
static __always_inline __u32 policy_epoch(__u32 generation)
{
	return generation << POLICY_BITS;
}

/* What functions see of a packet: the first of its flow, until the asker says more. */
static __always_inline void chain_describe(struct nf_packet *nf, const struct packet *packet, const struct tuple *flow,
					   bool out, enum nf_hook hook, __u32 program)
{
	nf->source = flow->source;
	nf->destination = flow->destination;
	nf->source_port = flow->source_port;
	nf->destination_port = flow->destination_port;
	nf->protocol = flow->protocol;
	nf->direction = out ? NF_OUT : NF_IN;
	nf->answers = false;
	nf->opens = true;
	nf->tcp_flags = packet->tcp_flags;
	nf->length = packet->ip_length;
	nf->hook = hook;
	nf->to_port = 0;
	nf->to_address = 0;
	nf->generation = packet->generation;
	nf->program = program;
	nf->packet_program = 0;
	nf->public_port = flow->destination_port;
	nf->ports = 0;
	nf->honeypot = NF_HONEYPOT_NONE;
	nf->at_address = 0;
	nf->at_port = 0;
	nf->payload = NF_PAYLOAD_NONE;
	nf->fragment = packet->fragment;
	nf->error = packet->kind == PACKET_ICMP_ERROR;
	nf->proves = false;
	nf->mark = 0;
	if (DRY) {
		nf->dry = true;
		nf->run = dry_run();
	}
	trace_step(TRACE_ASK, hook, 0, 0, 1);
}

/* Where its flow comes by: a port that a host inside has opened is no honeypot; of a name's service, the one outside. */
static __always_inline void chain_describe_origin(struct nf_packet *nf, __u8 origin, __u16 external_port)
{
	if (origin == ORIGIN_MAPPING)
		nf->honeypot = NF_HONEYPOT_EXEMPT;
	if (session_is_lent(origin) || origin == ORIGIN_WEB || origin == ORIGIN_EDGE_IN)
		nf->public_port = external_port;
}

/* The packet is of an open session, whose policy says what checked it before. */
static __always_inline void chain_describe_open(struct nf_packet *nf, bool answers, __u32 policy)
{
	nf->opens = false;
	nf->answers = answers;
	/* What a flow began with while no function waited for it is past. */
	nf->payload = policy & POLICY_AWAITS_PAYLOAD ? NF_PAYLOAD_NONE : NF_PAYLOAD_DONE;
}

/* What judges flows of the direction in this generation. */
static __always_inline __u32 chain_entry(const struct packet *packet, bool out)
{
	struct settings *settings = settings_get(packet->generation);

	if (!settings)
		return ENTRY_NONE;
	return out ? settings->entry[1] : settings->entry[0];
}

/* Whether the generation has chains that say where flows go. */
static __always_inline bool chain_has_dnat(const struct packet *packet)
{
	struct settings *settings = settings_get(packet->generation);

	return settings && settings->dnat;
}

/* Runs the chain: its programs end by returning here. SAID_NOTHING: there is none. */
__noinline int chain_run(ctx_t *ctx)
{
	struct nf_packet *nf = nf_packet();
	int action = SAID_NOTHING;

	if (!nf)
		return action;
	nf->function = 0;
	nf->verdict = NF_DROP;
	nf->changed = NF_UNCHANGED;
	nf->segments = ctx_segments(ctx);
	ctx_pull(ctx, CHAIN_SEES);
	if (nf->program)
		bpf_tail_call(ctx, &chains, nf->program);
	else if (nf->hook == NF_HOOK_DNAT && (nf->generation & 1))
		bpf_tail_call(ctx, &programs, PROGRAM_DNAT_ODD);
	else if (nf->hook == NF_HOOK_DNAT)
		bpf_tail_call(ctx, &programs, PROGRAM_DNAT_EVEN);
	else if (nf->generation & 1)
		bpf_tail_call(ctx, &programs, PROGRAM_CLASSIFIER_ODD);
	else
		bpf_tail_call(ctx, &programs, PROGRAM_CLASSIFIER_EVEN);
	asm volatile("" : "+r"(action)); /* or the compiler takes it for what a chain returns, too */
	return action;
}

/* A packet that a function may have changed is to keep its flow. */
__noinline enum reason chain_changed(ctx_t *ctx, struct packet *packet)
{
	struct packet now = {};
	enum reason reason = packet_parse(ctx, &now);

	if (!packet)
		return REASON_DROP_INTERNAL;
	if (reason != (packet->fragment == FRAGMENT_LATER ? REASON_DROP_FRAGMENT : REASON_NONE))
		return reason == REASON_NONE ? REASON_DROP_MALFORMED : reason;
	if (now.kind != packet->kind || now.fragment != packet->fragment ||
	    now.identification != packet->identification || now.tuple.source != packet->tuple.source ||
	    now.tuple.destination != packet->tuple.destination || now.tuple.source_port != packet->tuple.source_port ||
	    now.tuple.destination_port != packet->tuple.destination_port ||
	    now.tuple.protocol != packet->tuple.protocol)
		return REASON_DROP_MALFORMED;
	packet->tcp_flags = now.tcp_flags;
	packet->ttl = now.ttl;
	packet->dont_fragment = now.dont_fragment;
	packet->l4 = now.l4;
	packet->ip_length = now.ip_length;
	packet->sequence = now.sequence;
	packet->acknowledges = now.acknowledges;
	packet->wire_length = now.wire_length;
	packet->sum = now.sum;
	return REASON_NONE;
}

/*
 * Why the packet ends that was described to chains and that they do not let pass. It counts for the function that said so, but where that
 * has it held, and is still to decide. On its own, for the stack.
 */
__noinline enum reason chain_denied(void)
{
	struct nf_packet *nf = nf_packet();
	struct nf_count *count;

	if (!nf)
		return REASON_DROP_INTERNAL;
	if (nf->changed == NF_HELD)
		return REASON_HELD_FOR_VERDICT;
	count = nf->function ? nf_count(nf->function) : 0;
	if (count)
		count->dropped++;
	return nf->changed == NF_BROKEN ? REASON_DROP_MALFORMED : REASON_DROP_DENIED;
}

/*
 * What chains say about the packet that was described to them: REASON_NONE, or why it ends. In line, as at most 256 bytes
 * of stack may be above a tail call.
 */
static __always_inline enum reason chain_ask(ctx_t *ctx, struct packet *packet, struct nf_packet *nf)
{
	struct nf_count *count;
	__u32 function;

	if (chain_run(ctx) == SAID_NOTHING)
		return REASON_DROP_INTERNAL;
	if (nf->verdict != NF_ACCEPT)
		return chain_denied();
	function = nf->function;
	count = function ? nf_count(function) : 0;
	if (count)
		count->accepted++;
	return nf->changed ? chain_changed(ctx, packet) : REASON_NONE;
}

/* The policy word of a flow that chains let pass. */
static __always_inline __u32 chain_policy(const struct packet *packet, const struct nf_packet *nf)
{
	return policy_epoch(packet->generation) | (nf->packet_program & POLICY_MASK);
}

/* The private port that a chain said. */
static __always_inline __u16 chain_port(const struct nf_packet *nf)
{
	return nf->to_port ? nf->to_port : nf->destination_port;
}

/* A first packet from outside that the honeypot has dropped. */
static __always_inline enum reason chain_honeypot(const struct nf_packet *nf, const struct packet *packet,
						  enum reason reason)
{
	return reason == REASON_DROP_DENIED && nf->honeypot == NF_HONEYPOT_HIT && !packet->hairpin
		       ? REASON_DROP_HONEYPOT
		       : reason;
}

/*
 * Judges the flow that a packet is about to open by the chains of its direction, as the private host knows it.
 * REASON_DROP_HONEYPOT: by the honeypot.
 */
__noinline enum reason chain_judge(ctx_t *ctx, struct packet *packet, struct flow *flow)
{
	struct nf_packet *nf = nf_packet();
	struct tuple tuple = {};
	enum reason reason;
	__u32 entry;
	bool out;

	if (!packet || !flow || !nf)
		return REASON_DROP_INTERNAL;
	out = session_is_outbound(flow->origin);
	entry = chain_entry(packet, out);
	flow->policy = policy_epoch(packet->generation);
	if (entry == ENTRY_NONE) {
		trace_step(TRACE_ASK, NF_HOOK_FLOW, 0, 0, 0);
		return REASON_NONE;
	}
	tuple.source = out ? flow->private_address : flow->remote_address;
	tuple.destination = out ? flow->remote_address : flow->private_address;
	tuple.source_port = out ? flow->private_port : flow->remote_port;
	tuple.destination_port = out ? flow->remote_port : flow->private_port;
	tuple.protocol = flow->protocol;
	chain_describe(nf, packet, &tuple, out, NF_HOOK_FLOW, entry == ENTRY_CLASSIFIER ? 0 : entry);
	chain_describe_origin(nf, flow->origin, flow->external_port);
	reason = chain_ask(ctx, packet, nf);
	flow->policy = chain_policy(packet, nf);
	return chain_honeypot(nf, packet, reason);
}

/* A sender inside is told why its flow may not pass (RFC 1812 section 5.2.7.1, code 13). */
static __always_inline int chain_refuse(ctx_t *ctx, const struct packet *packet, enum reason reason)
{
	if (reason == REASON_DROP_BANNED || reason == REASON_DROP_SERVICE_CLOSED || reason == REASON_DROP_DENIED)
		return refuse(ctx, packet, reason, SIDE_PRIVATE, ICMP_DEST_UNREACH, ICMP_PKT_FILTERED, 0);
	return verdict(ctx, packet, reason, SIDE_PRIVATE);
}
