/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* TCP options (RFC 9293 section 3.1): their kinds, and how to come from one to the next. */
#pragma once

#include <linux/types.h>

#define TCP_OPTION_END	      0
#define TCP_OPTION_NOP	      1
#define MSS_OPTION	      2
#define MSS_OPTION_SIZE	      4
#define OPTION_SCALE	      3
#define OPTION_SACK_PERMITTED 4
#define OPTION_SACK	      5
#define OPTION_TIMESTAMPS     8
#define TCP_OPTIONS_MOST      40

/*
 * The octets of the option at a place, 0 where none follows or it is cut off. octet has room for TCP_OPTIONS_MOST and two more,
 * length says how many of them are options.
 */
static __always_inline __u32 tcp_option_length(const __u8 *octet, __u32 at, __u32 length)
{
	__u8 size;

	if (at >= TCP_OPTIONS_MOST || at >= length || octet[at] == TCP_OPTION_END)
		return 0;
	if (octet[at] == TCP_OPTION_NOP)
		return 1;
	size = octet[at + 1];
	return size < 2 || at + size > length ? 0 : size;
}
