/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The end of packets from outside that are of no session and open none: for the gateway itself, refused, or dropped.
 */
#pragma once

#include "public_admit.h"
#include "../fragment/input.h"
#include "../guard/input.h"
#include "../pool/proof.h"
#include "../question/side.h"

/* Whether the packet comes to a service's port of an address that is outbound and of the pool. */
__noinline bool port_is_lent(const struct packet *packet)
{
	struct address *address;

	if (!packet)
		return false;
	address = bpf_map_lookup_elem(&address_table, &packet->tuple.destination);
	return address && address->lends && bound_find(&packet->tuple);
}

/* Whether the sender of a packet to the pool is told that it may open nothing. */
static __always_inline bool public_refuses(const struct packet *packet, enum reason reason)
{
	__u32 destination = packet->tuple.destination;
	struct address *address = bpf_map_lookup_elem(&address_table, &destination);

	return address && (address->kind == ADDRESS_POOL || address->kind == ADDRESS_WEB || port_is_lent(packet)) &&
	       !packet->fragment && refusals_are_on(packet) &&
	       (reason == REASON_DROP_NO_BINDING || reason == REASON_DROP_NO_RESERVATION || proof_is_lost(reason) ||
		reason == REASON_DROP_NOT_SYN);
}

static __always_inline int public_input(ctx_t *ctx, struct packet *packet, bool local, bool inward, enum reason reason)
{
	enum reason said = input_judge(ctx, packet, local, inward);

	if (said == REASON_DROP_HONEYPOT)
		return honeypot_respond(ctx, packet);
	if (said == REASON_NONE && reason == REASON_TO_GATEWAY && question_is_due(packet)) {
		if (!packet->fragment)
			bpf_tail_call(ctx, &programs, PROGRAM_QUESTION);
		else if (!question_is_paid(packet->tuple.source, false))
			said = REASON_DROP_QUESTION_LIMIT;
	}
	if (said == REASON_NONE && !local && public_refuses(packet, reason))
		return refuse_stranger(ctx, packet, reason, SIDE_PUBLIC);
	return verdict(ctx, packet, said == REASON_NONE ? reason : said, SIDE_PUBLIC);
}

/* The end of what parsing could not make a flow of, for the reason that unparsed() tells; later: of a later fragment. */
static __always_inline int public_unparsed(ctx_t *ctx, struct packet *packet, enum reason reason, bool later)
{
	if (reason != REASON_TO_GATEWAY || packet->hairpin)
		return verdict(ctx, packet, reason, SIDE_PUBLIC);
	if (later) {
		enum reason said = fragment_input(ctx, packet);

		return verdict(ctx, packet, said == REASON_NONE ? reason : said, SIDE_PUBLIC);
	}
	return public_input(ctx, packet, true, true, reason);
}

/*
 * A lease for a client that has no address yet goes to the address that it is of (RFC 2131 section 4.1). The client hears
 * it from the kernel, which must not route it: its way ends here.
 */
__noinline bool lease_keep(ctx_t *ctx)
{
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct iphdr *ip = (void *)(eth + 1);

	if ((void *)(ip + 1) > (void *)(long)ctx->data_end)
		return false;
	ttl_write(ip, 1);
	return true;
}

/* A packet to an address that the data plane has nothing to do with. */
static __always_inline int public_untranslated(ctx_t *ctx, struct packet *packet, bool hairpin)
{
	if (!destination_is_local(ctx, packet->tuple.source, packet->tuple.destination) &&
	    (hairpin || !is_lease(packet) || !lease_keep(ctx)))
		return verdict(ctx, packet, REASON_DROP_NOT_FOR_US, SIDE_PUBLIC);
	if (hairpin)
		return verdict(ctx, packet, REASON_TO_GATEWAY, SIDE_PUBLIC);
	return public_input(ctx, packet, true, input_is_inward(packet, true), REASON_TO_GATEWAY);
}

/* The end of a packet that opens nothing, for that reason. Where nobody inside is meant, the gateway may be. */
static __always_inline int public_end(ctx_t *ctx, struct packet *packet, const struct address *address,
				      enum reason reason)
{
	bool nobody = reason == REASON_DROP_NO_MAPPING || reason == REASON_DROP_NO_BINDING ||
		      reason == REASON_DROP_NO_RESERVATION || reason == REASON_DROP_NO_SESSION;

	if (!packet->hairpin) {
		if (reason == REASON_DROP_HONEYPOT)
			return honeypot_respond(ctx, packet);
		if (nobody && is_local(ctx, packet, address) && !port_is_lent(packet)) /* I9: the host, or nobody */
			reason = REASON_TO_GATEWAY;
		if (nobody || reason == REASON_TO_GATEWAY || reason == REASON_DROP_NOT_SYN)
			return public_input(ctx, packet, reason == REASON_TO_GATEWAY,
					    input_is_inward(packet, reason == REASON_TO_GATEWAY), reason);
	}
	if (public_refuses(packet, reason))
		return refuse_stranger(ctx, packet, reason, SIDE_PUBLIC);
	return verdict(ctx, packet, reason, SIDE_PUBLIC);
}
