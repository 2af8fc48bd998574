/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What proves that a peer has sent a packet: SipHash-2-4 over three words of it, by the link's key of a direction and epoch.
 * Payload is not covered, nor is the checksum over it, which an interface may yet fill in. The octets of a word are those of
 * the frame, in their order:
 *
 *   0  source and destination, which are tags
 *   1  VNI (3 octets), protocol, total length (2), flags and fragment offset (2)
 *   2  first 8 octets behind the IP header, zeros where there are fewer, and for a checksum of UDP
 */
#pragma once

#include "../include/siphash.h"
#include "../packet/packet.h"

#define AUTHENTICATED_L4	  8
#define AUTHENTICATED_OCTETS	  24
#define AUTHENTICATED_BUT_UDP_SUM 0x0000ffffffffffffULL

/*
 * Of the IP packet whose header, read already, begins at an offset of the frame; vni: as in the frame, in the low three
 * octets. False where the packet is shorter than it says.
 */
static __always_inline bool authenticator(ctx_t *ctx, const __u64 *key, __u32 vni, const struct iphdr *ip, __u32 at,
					  __u64 *result)
{
	struct siphash hash = siphash_begin(key);
	__u32 header = ip->ihl * 4;
	__u64 length = bpf_ntohs(ip->tot_len), l4 = 0;

	if (header < sizeof(*ip) || length < header)
		return false;
	length -= header;
	if (length > AUTHENTICATED_L4)
		length = AUTHENTICATED_L4;
	barrier_var(length); /* or the compiler loses the bound that the verifier wants to see */
	if (length && length <= AUTHENTICATED_L4 && ctx_load(ctx, at + header, &l4, length))
		return false;
	if (ip->protocol == IPPROTO_UDP)
		l4 &= AUTHENTICATED_BUT_UDP_SUM;
	siphash_word(&hash, (__u64)ip->saddr | (__u64)ip->daddr << 32);
	siphash_word(&hash,
		     (__u64)vni | (__u64)ip->protocol << 24 | (__u64)ip->tot_len << 32 | (__u64)ip->frag_off << 48);
	siphash_word(&hash, l4);
	*result = siphash_end(&hash, (__u64)AUTHENTICATED_OCTETS << 56);
	return true;
}
