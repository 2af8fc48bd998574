/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How long sessions may be idle, by what they are. Go has these names, too, and the configuration: internal/plane/settings/timeout.go. */
#pragma once

enum timeout {
	TIMEOUT_TCP_ESTABLISHED,
	TIMEOUT_TCP_TRANSITORY, /* opening */
	TIMEOUT_TCP_CLOSING,	/* both sides have finished, or one has reset */
	TIMEOUT_UDP,
	TIMEOUT_UDP_UNANSWERED, /* opened from outside, and the host has not answered */
	TIMEOUT_DNS,		/* UDP from inside to port 53 */
	TIMEOUT_ICMP,
	TIMEOUT_OTHERS, /* protocols that are translated by address alone, basic.h */
	TIMEOUT_MAX,
};
