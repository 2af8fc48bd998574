/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A host that cannot be had, by its own word (RST), or by that of a router or a filter before it (ICMP destination
 * unreachable): its client hears so at once.
 */
#pragma once

#include "../path/forward.h"
#include "../path/private_error.h"
#include "overflow.h"
#include "report.h"
#include "side.h"
#include "write.h"

/* What the daemon is to hear of the connection, by what its session says before it is open. */
static __always_inline struct web_event host_told(const struct session *session, __u16 kind, enum reason reason)
{
	struct web_event told = {.kind = kind, .reason = reason, .begun = session->holds.offered.begun};

	told.key = (struct web_key){session->remote_address, session->external_address, session->remote_port,
				    session->external_port, IPPROTO_TCP};
	return told;
}

/* A segment from the host becomes the end for its client, which has been promised another number. */
static __always_inline int host_reset(ctx_t *ctx, struct packet *packet, struct session *session, __u16 epoch)
{
	struct handshake what = {.flags = TCP_FLAG_RST | TCP_FLAG_ACK};
	struct offer offer = {};
	enum reason reason;

	what.sequence = session->holds.offered.number + 1;
	what.acknowledges = session->holds.offered.begun + 1;
	what.partial = sum_stays(packet->sum, true);
	web_session_end(session, packet->generation);
	reason = handshake_become(ctx, packet, &what, &offer);
	if (reason != REASON_NONE)
		return verdict(ctx, packet, reason, SIDE_PRIVATE);
	return forward_on(ctx, packet, session, DIRECTION_OUT, epoch, true);
}

/* packet->tuple is the host's. By name the daemon tells the client, and has what it sends again end for the same reason. */
static __always_inline int host_refuses(ctx_t *ctx, struct packet *packet, struct session *session, __u16 epoch)
{
	struct web_event told = host_told(session, WEB_REFUSED, REASON_DROP_HOST_REFUSED);

	if (session->origin == ORIGIN_COOKIE)
		return host_reset(ctx, packet, session, epoch);
	web_session_end(session, packet->generation);
	web_report(ctx, &told);
	return verdict(ctx, packet, REASON_DROP_HOST_REFUSED, SIDE_PRIVATE);
}

#define ICMP_UNREACH_CODES 16

/*
 * Whether an error says that there is no way to a destination. To who connects that is the end, though of an open connection it
 * would mostly be none (RFC 5461 section 4.1, RFC 1122 section 4.2.3.9): nothing was sent yet that would be lost.
 */
static __always_inline bool error_ends_attempt(const struct icmphdr *icmp)
{
	return icmp->type == ICMP_DEST_UNREACH && icmp->code != ICMP_FRAG_NEEDED && icmp->code < ICMP_UNREACH_CODES;
}

/*
 * The session whose SYN an ICMP error says to have gone nowhere, 0 where it says no such thing. It quotes the number of the SYN,
 * or it is of somebody who has not seen that (RFC 5927 section 4.1). packet->tuple becomes the host's.
 */
__noinline __u32 host_unreached(ctx_t *ctx, struct packet *packet)
{
	struct quoted quoted = {};
	struct session *session;
	struct icmphdr icmp;
	__be32 sequence;
	__u32 number;

	if (!packet || ctx_load(ctx, packet->l4, &icmp, sizeof(icmp)) || !error_ends_attempt(&icmp) ||
	    quoted_parse(ctx, packet, &quoted) != REASON_NONE ||
	    ctx_load(ctx, quoted.l4 + offsetof(struct tcphdr, seq), &sequence, sizeof(sequence)))
		return 0;
	number = quoted_inside(&quoted);
	session = session_at(number);
	if (!session || !session_waits(session) || session->holds.offered.begun != bpf_ntohl(sequence))
		return 0;
	packet->tuple = (struct tuple){quoted.tuple.destination, quoted.tuple.source, quoted.tuple.destination_port,
				       quoted.tuple.source_port, IPPROTO_TCP};
	return number;
}

/*
 * An ICMP error about a session that waits; private_error_admit lets it in. The client hears of no other: what it quotes the
 * client has not in flight any more.
 */
static __always_inline int host_error(ctx_t *ctx, struct packet *packet, __u16 epoch)
{
	__u32 number = host_unreached(ctx, packet);
	struct session *session = number ? session_at(number) : 0;

	if (!session)
		return verdict(ctx, packet, REASON_DROP_NO_SESSION, SIDE_PRIVATE);
	return host_refuses(ctx, packet, session, epoch);
}
