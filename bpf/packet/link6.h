/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What IPv6 needs on a link, which is never forwarded and never judged. Pure: no map.
 */
#pragma once

#include <linux/ipv6.h>
#include <bpf/bpf_endian.h>
#include <stdbool.h>

/* Whether an address that begins with the word, in network byte order, is link-local (RFC 4291 section 2.5.6). */
static __always_inline bool is_link_local6(__u32 word)
{
	return (word & bpf_htonl(0xffc00000)) == bpf_htonl(0xfe800000);
}

/*
 * Neighbour discovery that no router has let pass (RFC 4861 section 3.1, types 133 to 137), so that nobody farther off can
 * have sent it.
 */
static __always_inline bool is_discovery6(const struct ipv6hdr *ip, __u8 type)
{
	return ip->hop_limit == 255 && type >= 133 && type <= 137;
}
