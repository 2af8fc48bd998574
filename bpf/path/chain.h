/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What may pass, decided once per flow and generation: a built-in judgement, which for a session from the pool means
 * that its service is still open, and then the chain that the classifier finds, if the generation has any. A chain
 * is asked from the program's entry, to which ASK_CHAIN goes up: a tail call may have at most 256 bytes of stack above it.
 */
#pragma once

#include "../answer/answer.h"
#include "../include/maps.h"
#include "../packet/packet.h"

#define CHAIN_SEES 2048 /* octets of a frame that functions find in one piece, if it has as many */

#define ASK_CHAIN REASON_MAX /* beyond the reasons: the packet is not at its end */
#define TO_CHAIN  -17	     /* the same, as a verdict of no hook */

/* A service is open to the generation that put it there and to older ones. how: origin << 8 | flags of the session. */
__noinline enum reason service_judge(__u32 private_address, __u16 private_port, __u8 protocol, __u16 how,
				     __u32 generation)
{
	struct service service = {.host = private_address};
	struct settings *settings = settings_get(generation);
	__u32 *known;

	if (how >> 8 != ORIGIN_POOL)
		return REASON_NONE;
	if (!(how & SESSION_WHOLE_HOST)) {
		service.port = private_port;
		service.protocol = protocol;
	}
	known = bpf_map_lookup_elem(&service_table, &service);
	return known && settings && (__s32)(*known - settings->since) >= 0 ? REASON_NONE : REASON_DROP_SERVICE_CLOSED;
}

/*
 * By whom a session was judged: the low bits of the generation, whether first bytes of its flow are still waited for,
 * and the program that judges its every packet, if there is one. The fast path compares it with the generation alone.
 * What has slept through 2^20 generations would be taken for judged; no session waits as long.
 */
static __always_inline __u32 judged_by(__u32 generation)
{
	return generation << JUDGED_BITS;
}

/* Whether its flow was judged just now: what comes before the chains was seen to then, and is not once more. */
static __always_inline bool chain_has_judged(const struct packet *packet)
{
	return packet->again == NF_FLOW || packet->again == NF_STATIC;
}

/* By whom the packet's flow was judged just now. */
static __always_inline __u32 chain_judged(const struct packet *packet)
{
	struct nf_packet *told = chain_has_judged(packet) ? nf_packet() : 0;

	return judged_by(packet->generation) | (told ? told->packets & JUDGED_MASK : 0);
}

/* Tells the functions what to judge. */
static __always_inline enum reason chain_describe(const struct packet *packet, const struct tuple *flow, bool out,
						  enum nf_stage stage, __u32 asked)
{
	struct nf_packet *told = nf_packet();

	if (!told)
		return REASON_DROP_INTERNAL;
	told->source = flow->source;
	told->destination = flow->destination;
	told->source_port = flow->source_port;
	told->destination_port = flow->destination_port;
	told->protocol = flow->protocol;
	told->direction = out ? NF_OUT : NF_IN;
	told->answers = false;
	told->opens = true;
	told->tcp_flags = packet->tcp_flags;
	told->length = packet->ip_length;
	told->stage = stage;
	told->to_port = 0;
	told->to_address = 0;
	told->generation = packet->generation;
	told->asked = asked;
	told->packets = 0;
	told->public_port = flow->destination_port;
	told->ports = 0;
	told->trap = NF_TRAP_NONE;
	told->at_address = 0;
	told->at_port = 0;
	told->spoke = NF_SILENT;
	told->fragment = packet->fragment;
	if (DRY)
		told->dry = true;
	trace_step(TRACE_ASK, stage, 0, 0, 1);
	return ASK_CHAIN;
}

/* What was described goes to a port that a host inside has opened: it is no trap, whatever its number. */
static __always_inline void chain_is_mapped(void)
{
	struct nf_packet *told = nf_packet();

	if (told)
		told->trap = NF_TRAP_NEVER;
}

/* What was described came to that port of the pool. */
static __always_inline void chain_came_to(__u16 port)
{
	struct nf_packet *told = nf_packet();

	if (told)
		told->public_port = port;
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
static __always_inline bool chain_is_static(const struct packet *packet)
{
	struct settings *settings = settings_get(packet->generation);

	return settings && settings->statics;
}

/* Whether the verdict is about this flow: what the packet belongs to may have changed since a chain was asked. */
static __always_inline enum reason chain_was_asked(const struct tuple *flow, bool out)
{
	struct nf_packet *told = nf_packet();

	if (!told || told->source != flow->source || told->destination != flow->destination ||
	    told->source_port != flow->source_port || told->destination_port != flow->destination_port ||
	    told->protocol != flow->protocol || told->direction != (out ? NF_OUT : NF_IN))
		return REASON_DROP_BUSY;
	return REASON_NONE;
}

/* The private port that a chain said. */
static __always_inline __u16 chain_port(const struct nf_packet *told)
{
	return told->to_port ? told->to_port : told->destination_port;
}

/* Judges a flow by the generation's chains: REASON_NONE when it may pass, or ASK_CHAIN. */
static __always_inline enum reason chain_judge(const struct packet *packet, const struct tuple *flow, bool out)
{
	__u32 entry;

	if (packet->again == NF_FLOW)
		return chain_was_asked(flow, out);
	entry = chain_entry(packet, out);
	if (entry == ENTRY_NONE) {
		trace_step(TRACE_ASK, NF_FLOW, 0, 0, 0);
		return REASON_NONE;
	}
	return chain_describe(packet, flow, out, NF_FLOW, entry == ENTRY_CLASSIFIER ? 0 : entry);
}

/* The same of a first packet from outside, to a private host's endpoint. */
static __always_inline enum reason chain_judge_in(const struct packet *packet, __u32 address, __u16 port)
{
	struct tuple flow = packet->tuple;

	flow.destination = address;
	flow.destination_port = port;
	return chain_judge(packet, &flow, false);
}

/* Judges an open flow, as it came, by the chains that say where flows go: it ends when it is sent elsewhere now. */
static __always_inline enum reason chain_judge_static(const struct packet *packet, const struct tuple *flow,
						      const struct session *session)
{
	struct nf_packet *told = nf_packet();
	enum reason reason;

	if (!told || !chain_is_static(packet))
		return REASON_DROP_SERVICE_CLOSED;
	if (packet->again != NF_STATIC) {
		reason = chain_describe(packet, flow, false, NF_STATIC, 0);
		told->at_address = session->private_address;
		told->at_port = session->private_port;
		return reason;
	}
	reason = chain_was_asked(flow, false);
	if (reason != REASON_NONE)
		return reason;
	return told->to_address == session->private_address && chain_port(told) == session->private_port
		       ? REASON_NONE
		       : REASON_DROP_SERVICE_CLOSED;
}

/*
 * Judges a packet of an open flow by the functions that see its every packet, program number packets. Which program
 * its next one is for may be another: the functions that waited for first bytes have seen them.
 */
static __always_inline enum reason chain_judge_packet(const struct packet *packet, const struct tuple *flow, bool out,
						      struct session *session, __u32 packets)
{
	struct nf_packet *told = nf_packet();
	enum reason reason;

	if (!packet->again)
		return chain_describe(packet, flow, out, NF_PACKET, packets & (CHAINS - 1));
	reason = chain_was_asked(flow, out);
	if (reason == REASON_NONE && told && told->packets)
		session->judged = judged_by(packet->generation) | (told->packets & JUDGED_MASK);
	return reason;
}

/* The packet that is to be judged is of an open session, which judged says by whom it was judged before. */
static __always_inline void chain_is_open(bool answers, __u32 judged)
{
	struct nf_packet *told = nf_packet();

	if (!told)
		return;
	told->opens = false;
	told->answers = answers;
	/* What a flow began with while no function waited for it is past. */
	told->spoke = judged & JUDGED_WAITS ? NF_SILENT : NF_HAS_SPOKEN;
}

/* Runs the chain: its programs end by returning here. SAID_NOTHING: there is none. */
__noinline int chain_run(ctx_t *ctx)
{
	struct nf_packet *told = nf_packet();
	int action = SAID_NOTHING;

	if (!told)
		return action;
	if (told->asked)
		bpf_tail_call(ctx, &chains, told->asked);
	else if (told->stage == NF_STATIC && (told->generation & 1))
		bpf_tail_call(ctx, &programs, PROGRAM_STATIC_ODD);
	else if (told->stage == NF_STATIC)
		bpf_tail_call(ctx, &programs, PROGRAM_STATIC_EVEN);
	else if (told->generation & 1)
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

/* What the chain says about what was described: REASON_NONE, or why the packet ends. */
__noinline enum reason chain_ask(ctx_t *ctx, struct packet *packet)
{
	struct nf_packet *told = nf_packet();
	struct nf_count *count;
	__u32 function;

	if (!packet || !told)
		return REASON_DROP_INTERNAL;
	told->function = 0;
	told->verdict = NF_DROP;
	told->changed = false;
	told->segments = ctx_segments(ctx);
	ctx_pull(ctx, CHAIN_SEES);
	if (chain_run(ctx) == SAID_NOTHING)
		return REASON_DROP_INTERNAL;
	packet->again = told->stage;
	function = told->function;
	count = function ? nf_count(function) : 0;
	if (told->verdict != NF_ACCEPT) {
		if (count)
			count->dropped++;
		return REASON_DROP_DENIED;
	}
	if (count)
		count->accepted++;
	return told->changed ? chain_changed(ctx, packet) : REASON_NONE;
}

/* A sender inside is told why (RFC 1812 section 5.2.7.1, code 13), unless his flow goes on without this packet. */
static __always_inline int chain_refuse(ctx_t *ctx, const struct packet *packet, enum reason reason, enum side side)
{
	bool judged =
		reason == REASON_DROP_BANNED || reason == REASON_DROP_SERVICE_CLOSED || reason == REASON_DROP_DENIED;

	if (side == SIDE_PRIVATE && judged && packet->again != NF_PACKET)
		return refuse(ctx, packet, reason, side, ICMP_DEST_UNREACH, ICMP_PKT_FILTERED, 0);
	return verdict(ctx, packet, reason, side);
}
