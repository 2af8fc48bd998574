/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How long a session may be idle: by its protocol and state, and for the sake of others where whoever comes is let in. */
#pragma once

#include "session.h"

#define LED_TICKS	40 /* 10 s: TCP that dnat or 1:1 lets in, and nobody has proved */
#define LED_SHORT_TICKS 8  /* 2 s, in which one SYN-ACK may be lost: the same, and datagrams without an answer */
#define LED_SHORT	4  /* eighths of its host's places in use, from which on that holds, */
#define LED_FULL	7  /* and LED_TICKS for datagrams that were answered */

/* How long it may be idle until it is answered; answered: from then on. */
static __always_inline __u32 unanswered_timeout(const struct settings *settings, enum timeout answered)
{
	__u32 most = settings->timeout[answered], least = settings->timeout[TIMEOUT_UDP_UNANSWERED];

	return least < most ? least : most;
}

/* Whether its host has answered, for UDP; by a name, which whoever forges addresses can say, its client must have come again. */
static __always_inline bool session_is_answered(const struct session *session)
{
	return session->marks.as.flags & (session->origin == ORIGIN_WEB ? SESSION_SETTLED : SESSION_ANSWERED);
}

/* How long it may be idle in its state. */
static __always_inline __u32 state_timeout(const struct settings *settings, const struct session *session)
{
	if (session->marks.as.flags & SESSION_TENTATIVE)
		return TENTATIVE_TICKS;
	switch (session->protocol) {
	case IPPROTO_TCP:
		return tcp_timeout(settings, session->life.as.tcp);
	case IPPROTO_UDP:
		if (!session_is_outbound(session->origin) && !session_is_answered(session))
			return unanswered_timeout(settings, TIMEOUT_UDP);
		/* A resolver takes a port for each question, and needs it no more once it is answered (RFC 4787 REQ-5a). */
		if (session_is_outbound(session->origin) && session->remote_port == bpf_htons(53))
			return settings->timeout[TIMEOUT_DNS];
		return settings->timeout[TIMEOUT_UDP];
	case IPPROTO_ICMP:
		return settings->timeout[TIMEOUT_ICMP];
	}
	if (!(session->marks.as.flags & SESSION_ANSWERED)) /* from whichever side */
		return unanswered_timeout(settings, TIMEOUT_OTHERS);
	return settings->timeout[TIMEOUT_OTHERS];
}

/* The most that it may be for the sake of others, where dnat or 1:1 lets in whoever comes. */
static __always_inline __u32 led_patience(const struct settings *settings, const struct session *session)
{
	__u32 eighths = session->marks.as.flags & SESSION_HAIRPIN ? 0 : led_eighths(session->private_address, settings);

	if (session->protocol == IPPROTO_TCP && session->life.as.tcp > TCP_SYN_BOTH)
		return ~0U;
	if (session->protocol == IPPROTO_TCP)
		return eighths >= LED_SHORT ? LED_SHORT_TICKS : LED_TICKS;
	if (session->marks.as.flags & SESSION_ANSWERED)
		return eighths >= LED_FULL ? LED_TICKS : ~0U;
	return eighths >= LED_SHORT ? LED_SHORT_TICKS : ~0U;
}

/* How long it may be idle. */
static __always_inline __u32 session_timeout(const struct settings *settings, const struct session *session)
{
	__u32 timeout = state_timeout(settings, session);
	__u32 patience = session_is_led(session->origin) ? led_patience(settings, session) : ~0U;

	return patience < timeout ? patience : timeout;
}
