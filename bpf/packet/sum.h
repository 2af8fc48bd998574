/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How the checksum of TCP and UDP is meant. A sender that leaves it to its interface writes the sum of the pseudo-header
 * alone; a socket buffer tells that beside the frame, and keeps it until an interface fills the field. A frame of XDP tells
 * nothing: the field gives the sender away, and what is redirected has to be filled first.
 */
#pragma once

#include <bpf/bpf_core_read.h>
#include <linux/in.h>

#include "basic.h"
#include "checksum.h"

enum sum {
	SUM_FULL,     /* of all; or there is none */
	SUM_PARTIAL,  /* of the pseudo-header */
	SUM_COMPLETE, /* full, and the socket buffer has the sum of all octets beside (an interface made it) */
};

/* The field after addresses and port changed by delta, of which the addresses' part is address_delta. */
static __always_inline __u16 sum_update(__u8 sum, __u16 field, __u16 delta, __u16 address_delta)
{
	if (__builtin_expect(sum == SUM_PARTIAL, 0))
		return checksum_add(field, address_delta);
	return checksum_update(field, delta);
}

static __always_inline bool checksum_is_wrong(ctx_t *ctx, __u32 offset, __u32 length, __u32 pseudo)
{
	return checksum_bytes(ctx, offset, length, pseudo) != 0xffff;
}

/* A right checksum has the value of the pseudo-header's once in 65,536 packets, so the rare match is checked in full. */
static __always_inline enum sum sum_guess(ctx_t *ctx, __u64 pseudo, __u32 offset, __u32 length, __u16 field)
{
	__u16 folded = checksum_fold(pseudo);

	return field == folded && checksum_is_wrong(ctx, offset, length, folded) ? SUM_PARTIAL : SUM_FULL;
}

#ifdef CTX_SKB

#define CHECKSUM_COMPLETE 2 /* linux/skbuff.h */
#define CHECKSUM_PARTIAL  3

/* What is read of the kernel's own. */
struct sk_buff {
	unsigned char *head;
	unsigned char *data;
	__u16 csum_start;  /* from head */
	__u16 csum_offset; /* of the field, from there */
	__u8 ip_summed : 2;
} __attribute__((preserve_access_index));

extern void *bpf_cast_to_kern_ctx(void *) __ksym __weak; /* Linux 6.2 */

/* Where the octets begin whose sum is left to an interface, or 0. */
static __always_inline __u32 sum_start(ctx_t *ctx)
{
	struct sk_buff *skb;

	if (!bpf_cast_to_kern_ctx)
		return 0;
	skb = bpf_cast_to_kern_ctx(ctx);
	if (BPF_CORE_READ_BITFIELD(skb, ip_summed) != CHECKSUM_PARTIAL)
		return 0;
	return skb->csum_start - (__u32)((__u64)skb->data - (__u64)skb->head);
}

/*
 * Whether an interface would write the sum where none belongs: over addresses, ports or an identifier, after they were
 * translated. A machine inside says where, if it is a virtual one. offset: of the header behind IP's.
 */
static __always_inline bool sum_is_misplaced(ctx_t *ctx, __u32 offset, __u8 protocol)
{
	__u32 start = sum_start(ctx);
	struct sk_buff *skb;

	if (__builtin_expect(!start, 1))
		return false;
	if (start == offset && (protocol == IPPROTO_TCP || protocol == IPPROTO_UDP)) {
		skb = bpf_cast_to_kern_ctx(ctx);
		return skb->csum_offset != (protocol == IPPROTO_TCP ? 16 : 6);
	}
	if (is_basic(protocol) && !basic_has_sum(protocol)) /* there nothing is translated, and SCTP's own sum begins */
		return start < offset;
	return start < offset + 8; /* behind ports and identifier there may be a packet within the packet */
}

/* pseudo: sum of the pseudo-header; offset, length: of header and payload; field: the checksum, not 0. */
static __always_inline enum sum sum_of(ctx_t *ctx, __u64 pseudo, __u32 offset, __u32 length, __u16 field)
{
	struct sk_buff *skb;

	if (!bpf_cast_to_kern_ctx)
		return sum_guess(ctx, pseudo, offset, length, field);
	skb = bpf_cast_to_kern_ctx(ctx);
	switch (BPF_CORE_READ_BITFIELD(skb, ip_summed)) {
	case CHECKSUM_PARTIAL: /* or it is that of a packet within the packet */
		return sum_start(ctx) == offset ? SUM_PARTIAL : SUM_FULL;
	case CHECKSUM_COMPLETE:
		return SUM_COMPLETE;
	}
	return SUM_FULL;
}

/* The same of UDP that has no checksum. */
static __always_inline enum sum sum_of_none(ctx_t *ctx)
{
	struct sk_buff *skb;

	if (!bpf_cast_to_kern_ctx)
		return SUM_FULL;
	skb = bpf_cast_to_kern_ctx(ctx);
	return BPF_CORE_READ_BITFIELD(skb, ip_summed) == CHECKSUM_COMPLETE ? SUM_COMPLETE : SUM_FULL;
}

/* The octets changed by delta beside what the field makes up for. */
static __always_inline void sum_note(ctx_t *ctx, __u8 sum, __u16 delta)
{
	if (sum == SUM_COMPLETE)
		bpf_csum_update(ctx, delta);
}

/* Whether an answer in place of the packet is left to an interface, too: sent says that it is redirected. */
static __always_inline bool sum_stays(__u8 sum, bool sent)
{
	return sum == SUM_PARTIAL;
}

static __always_inline bool sum_fill(ctx_t *ctx, __u8 sum, __u32 offset, __u32 length, __u32 field_at)
{
	return true;
}

#else

static __always_inline __u32 sum_start(ctx_t *ctx)
{
	return 0;
}

static __always_inline bool sum_is_misplaced(ctx_t *ctx, __u32 offset, __u8 protocol)
{
	return false;
}

static __always_inline enum sum sum_of(ctx_t *ctx, __u64 pseudo, __u32 offset, __u32 length, __u16 field)
{
	return sum_guess(ctx, pseudo, offset, length, field);
}

static __always_inline enum sum sum_of_none(ctx_t *ctx)
{
	return SUM_FULL;
}

static __always_inline void sum_note(ctx_t *ctx, __u8 sum, __u16 delta)
{
}

static __always_inline bool sum_stays(__u8 sum, bool sent)
{
	return sum == SUM_PARTIAL && !sent;
}

/* Fills the field of what is to be redirected; false where it cannot. */
static __always_inline bool sum_fill(ctx_t *ctx, __u8 sum, __u32 offset, __u32 length, __u32 field_at)
{
	__u16 field;

	if (__builtin_expect(sum != SUM_PARTIAL, 1))
		return true;
	field = ~checksum_bytes(ctx, offset, length, 0);
	if (!field)
		field = 0xffff; /* for UDP; to TCP it is the same */
	return !ctx_store(ctx, field_at, &field, sizeof(field));
}

#endif
