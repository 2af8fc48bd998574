/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connections to web addresses until they are sessions. A SYN is answered by a cookie, and nothing is kept. The daemon reads
 * the first data and says to which host they go; then the segment with them becomes the SYN to that host, and the daemon
 * sends the frames again when the host has answered (host.h). No data are acknowledged here: what is lost comes again, but for what the
 * daemon has taken upon itself.
 */
#pragma once

#include "../path/forward.h"
#include "../path/public_open.h"
#include "answer.h"
#include "order.h"
#include "report.h"

/* Whether the packet came from inside, and was translated on its way out. To be asked before flow_new. */
static __always_inline bool handshake_is_hairpin(void)
{
	struct flow *flow = flow_here();

	return flow && (flow->flags & SESSION_HAIRPIN);
}

/* Sends an answer back to where the packet came from: of a hairpin the way of its answers. */
static __always_inline int handshake_send(ctx_t *ctx, const struct packet *packet)
{
	if (!packet->hairpin)
		return ctx_redirect(ctx, ctx_ifindex(ctx));
	hairpin_enter(ctx, packet);
	return CTX_DROP;
}

/* Whether a daemon reads names. */
static __always_inline bool web_is_read(void)
{
	__u32 zero = 0;
	struct web_state *state = bpf_map_lookup_elem(&web_states, &zero);

	return state && *(volatile __u64 *)&state->until > bpf_ktime_get_coarse_ns();
}

/* Ends a session whose host has not answered, or one that is closing, unless another CPU has changed that. */
__noinline int web_session_end(struct session *session, __u32 generation)
{
	struct settings *settings = settings_get(generation);
	struct stripe *stripe;

	if (!session || !settings)
		return 0;
	stripe = lock_stripe(endpoint_hash(session->private_address, session->private_port, session->protocol));
	if (!stripe || !lock_take(stripe))
		return 0; /* it has its time */
	if (session->life.as.phase == PHASE_LIVE &&
	    ((session->marks.as.flags & SESSION_TENTATIVE) || tcp_is_closing(session->life.as.tcp)))
		proof_fail(session, settings);
	lock_release(stripe);
	return 1;
}

#define RESET_STANDS 3 /* ticks: more than half a second, and less than until a SYN comes again */

/*
 * A client begins anew, and whom it wants is unknown: what its port was used for, and is closing, is over. But a guess is
 * near enough for the sequence guard once in 2,000 times, and a connection that lives revives what an RST has closed.
 * So false while one has stood for less than that: whoever did reset says SYN again.
 */
static __always_inline bool web_gives_way(const struct packet *packet)
{
	__u32 number = web_standing(packet);
	struct session *session = number ? session_at(number) : 0;

	if (!session || !tcp_is_closing(session->life.as.tcp))
		return true;
	if (session->life.as.tcp == TCP_RST && clock_tick() - session->life.as.stamp < RESET_STANDS)
		return false;
	web_session_end(session, packet->generation);
	return true;
}

static __always_inline int web_answer(ctx_t *ctx, struct packet *packet)
{
	enum reason reason = web_protect(ctx, packet);

	if (reason != REASON_NONE)
		return verdict(ctx, packet, reason, SIDE_PUBLIC);
	if (!web_is_read())
		return refuse_stranger(ctx, packet, REASON_DROP_DAEMON_AWAY, SIDE_PUBLIC);
	if (!web_gives_way(packet))
		return verdict(ctx, packet, REASON_DROP_SESSION_CONFLICT, SIDE_PUBLIC);
	if (!syn_cookie_is_paid() || !web_answer_write(ctx, packet))
		return verdict(ctx, packet, REASON_DROP_BUSY, SIDE_PUBLIC);
	reason_count(REASON_ANSWERED_COOKIE);
	return handshake_send(ctx, packet);
}

/* Reads the numbers of a segment. */
__noinline bool web_numbers(ctx_t *ctx, const struct packet *packet, struct flow *flow)
{
	return packet && flow && numbers_read(ctx, packet, &flow->first);
}

#define AGREED_MOST (1 << 17) /* of our clock's milliseconds, longer than any cookie is good for */

/* Timestamps have been agreed on if the first data echo ours: a client may send others, which mean nothing to anybody. */
static __always_inline void offer_agree(struct offer *offer)
{
	if (handshake_clock() - offer->echo > AGREED_MOST)
		offer->timestamps = 0;
}

/* What a segment with data is of; flow->first has its numbers, flow->offer gets what its client offered. */
__noinline enum syn_cookie_said web_recognise(ctx_t *ctx, const struct packet *packet, struct flow *flow)
{
	struct syn_cookie_input in = {.epoch = syn_cookie_epoch()};
	enum syn_cookie_said said;

	if (!packet || !flow || !(packet->tcp_flags & TCP_FLAG_ACK))
		return SYN_COOKIE_BAD;
	in.tuple = packet->tuple;
	in.begun = flow->first.sequence - 1;
	said = syn_cookie_check(&in, flow->first.acknowledges - 1);
	if (said == SYN_COOKIE_FIRST && offer_read(ctx, packet, &flow->offer)) {
		syn_cookie_offer(flow->first.acknowledges - 1, &flow->offer);
		offer_agree(&flow->offer);
	}
	return said;
}

/* Makes the frame another segment, which goes on its way: packet tells of that from then on. */
__noinline enum reason handshake_become(ctx_t *ctx, struct packet *packet, const struct handshake *what,
					const struct offer *offer)
{
	__u32 generation;
	enum reason reason;
	bool hairpin;

	if (!packet || !what || !offer)
		return REASON_DROP_INTERNAL;
	generation = packet->generation;
	hairpin = packet->hairpin;
	if (!handshake_write(ctx, packet, what, offer))
		return REASON_DROP_MALFORMED;
	__builtin_memset(packet, 0, sizeof(*packet));
	reason = packet_parse(ctx, packet);
	packet->generation = generation;
	packet->hairpin = hairpin;
	return reason;
}

/* Makes of the first data, or of an ACK, the SYN to their host, as the client sent it. */
__noinline enum reason web_syn_write(ctx_t *ctx, struct packet *packet, struct flow *flow)
{
	struct handshake what = {.window = 0xffff, .flags = TCP_FLAG_SYN};

	if (!packet || !flow)
		return REASON_DROP_INTERNAL;
	what.sequence = flow->first.sequence - 1;
	what.partial = sum_stays(packet->sum, true);
	flow->offer.echo = 0;
	return handshake_become(ctx, packet, &what, &flow->offer);
}

/* Whether the daemon hears of the frame, which then goes no further. */
static __always_inline bool web_is_heard(ctx_t *ctx, const struct packet *packet, __u16 kind)
{
	if (!web_is_paid(ctx, packet) || !web_report_frame(ctx, packet, kind))
		return false;
	reason_count(REASON_HELD_FOR_NAME);
	return true;
}

/* Has the daemon hear of it. */
static __always_inline int web_hold(ctx_t *ctx, const struct packet *packet, __u16 kind)
{
	return web_is_heard(ctx, packet, kind) ? CTX_DROP : verdict(ctx, packet, REASON_DROP_WEB_FULL, SIDE_PUBLIC);
}

/* What the daemon has said of a connection. */
enum web_said {
	WEB_SAID_NOTHING,
	WEB_SAID_HOST,
	WEB_SAID_NO, /* and for which reason: WEB_SAID_NO + reason */
};

/*
 * Where the connection goes by its name. A copy, in flow, as the daemon may take it back at any time. begun tells it from
 * others by the same ports: TCP's first number, or quic_begun.
 */
__noinline __u32 web_said(const struct packet *packet, struct flow *flow, __u32 begun)
{
	struct web_answer *answer;
	struct web_key key;
	__u32 host;

	if (!packet || !flow)
		return WEB_SAID_NOTHING;
	key = web_key_of(&packet->tuple);
	answer = bpf_map_lookup_elem(&web_answers, &key);
	if (!answer || answer->begun != begun)
		return WEB_SAID_NOTHING;
	host = answer->host;
	if (!host)
		return WEB_SAID_NO + answer->reason;
	flow->origin = ORIGIN_WEB;
	flow->private_address = host;
	flow->private_port = answer->port;
	flow->name = answer->name;
	if (packet->tuple.protocol == IPPROTO_TCP)
		flow->flags |= SESSION_TENTATIVE;
	return WEB_SAID_HOST;
}

/* Whether a session that waits for its host is of this very connection, and not of one before it by the same ports. */
static __always_inline bool web_is_same(const struct session *session, const struct flow *flow)
{
	return !session_is_over(session) && session->holds.offered.begun == flow->first.sequence - 1 &&
	       session->private_address == flow->private_address && session->private_port == flow->private_port;
}

/* The session of the connection, which waits for its host; 0 where there is none, and then none of another one either. */
static __always_inline struct session *web_session(const struct packet *packet, const struct flow *flow)
{
	__u32 number = web_standing(packet);
	struct session *session = number ? session_at(number) : 0;

	if (session && (session->marks.as.flags & SESSION_TENTATIVE) && web_is_same(session, flow))
		return session;
	web_session_end(session, packet->generation);
	return 0;
}

/* The end of a connection that did not become a session. */
__noinline int web_end(ctx_t *ctx, const struct packet *packet, const struct flow *flow, enum reason reason)
{
	struct web_event told = {.kind = WEB_REFUSED, .reason = reason};

	if (!packet || !flow)
		return CTX_DROP;
	told.key = web_key_of(&packet->tuple);
	told.begun = flow->first.sequence - 1;
	web_report(ctx, &told);
	return verdict(ctx, packet, reason, SIDE_PUBLIC);
}

/* The SYN to the host that the name leads to: once, or again while it does not answer. */
static __always_inline int web_connect(ctx_t *ctx, struct packet *packet, struct flow *flow, __u16 epoch)
{
	struct session *session = web_session(packet, flow);
	enum reason reason = web_syn_write(ctx, packet, flow);
	__u32 number = 0;

	if (reason != REASON_NONE)
		return verdict(ctx, packet, reason, SIDE_PUBLIC);
	if (!session) {
		flow_comes_in(flow, packet);
		reason = web_judge(ctx, packet, flow);
		if (reason == REASON_NONE)
			reason = public_open(packet, flow, &number);
		session = session_at(number);
		if (reason == REASON_HELD_FOR_VERDICT) /* the name is read, and its first data come again */
			return verdict(ctx, packet, reason, SIDE_PUBLIC);
		if (reason != REASON_NONE || !session)
			return web_end(ctx, packet, flow, reason == REASON_NONE ? REASON_DROP_INTERNAL : reason);
		if (!flow->opened)
			return verdict(ctx, packet, REASON_DROP_BUSY, SIDE_PUBLIC);
		session_offer(session, flow);
	}
	return forward_on(ctx, packet, session, DIRECTION_IN, epoch, true);
}

/* Why the segment is not heard: it brings no cookie, or is a FIN alone, which is no first data. */
static __always_inline enum reason web_unheard(const struct packet *packet, const struct flow *flow,
					       enum syn_cookie_said cookie)
{
	if (cookie == SYN_COOKIE_BAD)
		return REASON_DROP_COOKIE;
	if (cookie == SYN_COOKIE_FIRST && (packet->tcp_flags & TCP_FLAG_FIN) &&
	    flow->first.end - flow->first.sequence == 1)
		return REASON_DROP_NAME_NONE;
	return REASON_NONE;
}

/* Data of a connection that is no session yet. */
static __always_inline int web_data(ctx_t *ctx, struct packet *packet, struct flow *flow, __u16 epoch)
{
	enum syn_cookie_said cookie = web_recognise(ctx, packet, flow);
	enum reason reason = web_unheard(packet, flow, cookie);
	__u32 said;

	if (reason != REASON_NONE)
		return refuse_stranger(ctx, packet, reason, SIDE_PUBLIC);
	said = web_said(packet, flow, flow->first.sequence - 1);
	if (said >= WEB_SAID_NO)
		return verdict(ctx, packet, said - WEB_SAID_NO, SIDE_PUBLIC);
	if (said == WEB_SAID_HOST && cookie == SYN_COOKIE_FIRST)
		return web_connect(ctx, packet, flow, epoch);
	if (!web_is_read())
		return verdict(ctx, packet, REASON_DROP_DAEMON_AWAY, SIDE_PUBLIC);
	return web_hold(ctx, packet, cookie == SYN_COOKIE_FIRST ? WEB_FIRST : WEB_LATER);
}

/*
 * The client goes before its connection is a session. By our number it shows that it has seen the cookie, or, once in 2,048
 * times, has guessed that; by its own the daemon knows for sure.
 */
static __always_inline int web_reset(ctx_t *ctx, const struct packet *packet, struct flow *flow)
{
	if (web_recognise(ctx, packet, flow) == SYN_COOKIE_BAD)
		return verdict(ctx, packet, REASON_DROP_NO_SESSION, SIDE_PUBLIC);
	return web_hold(ctx, packet, WEB_LATER);
}

/* Whether the daemon has said what becomes of a connection between the same ports: its client acknowledges our last words, too. */
static __always_inline bool web_is_known(const struct packet *packet)
{
	struct web_key key = web_key_of(&packet->tuple);

	return bpf_map_lookup_elem(&web_answers, &key);
}

/*
 * An ACK without data keeps nothing: a connection has no timer and no table here before its first data. One of no connection
 * is told: its client has missed the end of a session, and would wait for ever.
 */
static __always_inline int web_acknowledge(ctx_t *ctx, const struct packet *packet, struct flow *flow)
{
	if (web_recognise(ctx, packet, flow) == SYN_COOKIE_BAD && !web_is_known(packet))
		return refuse_stranger(ctx, packet, REASON_DROP_COOKIE, SIDE_PUBLIC);
	reason_count(REASON_HELD_FOR_NAME);
	return CTX_DROP;
}

/* Entered by tail call. */
static __always_inline int web_side(ctx_t *ctx)
{
	struct packet packet = {.hairpin = handshake_is_hairpin()};
	enum reason reason = packet_parse(ctx, &packet);
	struct control *control = control_get();
	struct flow *flow = flow_new();
	struct session *session;

	if (!control || !flow || reason != REASON_NONE || packet.kind != PACKET_FLOW ||
	    packet.tuple.protocol != IPPROTO_TCP)
		return verdict(ctx, &packet, reason == REASON_NONE ? REASON_DROP_INTERNAL : reason, SIDE_PUBLIC);
	packet.generation = packet.hairpin ? hairpin_generation() : *(volatile __u32 *)&control->generation;
	session = order_find(&packet);
	if (session) {
		if (!order_is_next(ctx, &packet, session)) {
			if (web_is_read() && web_is_heard(ctx, &packet, WEB_LATER))
				return CTX_DROP;
			order_end(session);
		}
		return order_pass(ctx, &packet, session, control->route_epoch);
	}
	reason = web_guard(ctx, &packet);
	if (reason != REASON_NONE)
		return verdict(ctx, &packet, reason, SIDE_PUBLIC);
	if (tcp_is_pure_syn(packet.tcp_flags))
		return web_answer(ctx, &packet);
	if (packet.tcp_flags & TCP_FLAG_SYN)
		return verdict(ctx, &packet, REASON_DROP_NO_SESSION, SIDE_PUBLIC);
	if (!web_numbers(ctx, &packet, flow))
		return verdict(ctx, &packet, REASON_DROP_MALFORMED, SIDE_PUBLIC);
	if (packet.tcp_flags & TCP_FLAG_RST)
		return web_reset(ctx, &packet, flow);
	if (flow->first.end == flow->first.sequence)
		return web_acknowledge(ctx, &packet, flow);
	return web_data(ctx, &packet, flow, control->route_epoch);
}
