/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The tester's UDP frame. Its first 60 octets, the whole of a 64-octet frame, are written anew each time, since a
 * recycled page comes back with the device's edits; behind them are zeros that no device touches.
 */
#pragma once

#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>

#include "../packet/checksum.h"
#include "flow.h"

#define FRAME_TTL 64

/* Host byte order: only the tester reads it. Before it stands the trial's number twice, plus 1 on the way back. */
struct payload {
	__u32 flow;
	__u32 sequence;
	__u32 time_low; /* of sending, CLOCK_MONOTONIC in ns; 0 when not stamped */
	__u32 time_high;
};

struct frame {
	__u32 *mac; /* three words: destination and source */
	__u16 *type;
	struct iphdr *ip;
	struct udphdr *udp;
	__u16 *trial;
	struct payload *payload;
};

/* False when the frame is too short to be the tester's. */
static __always_inline bool frame_at(struct xdp_md *ctx, struct frame *frame)
{
	void *data = (void *)(long)ctx->data;
	struct ethhdr *eth = data;

	frame->mac = data;
	frame->type = (__u16 *)data + ETH_ALEN;
	frame->ip = (void *)(eth + 1);
	frame->udp = (void *)(frame->ip + 1);
	frame->trial = (void *)(frame->udp + 1);
	frame->payload = (void *)(frame->trial + 1);
	return (void *)(frame->payload + 1) <= (void *)(long)ctx->data_end;
}

static __always_inline __u64 frame_ip_sum(const struct frame *frame)
{
	const __u32 *word = (const void *)frame->ip;

	return (__u64)word[0] + word[1] + word[2] + word[3] + word[4];
}

/* Of pseudo-header, header and payload, the checksum field with them. */
static __always_inline __u64 frame_udp_sum(const struct frame *frame)
{
	const __u32 *word = (const void *)frame->udp;
	const struct payload *payload = frame->payload;

	return (__u64)frame->ip->saddr + frame->ip->daddr + bpf_htons(IPPROTO_UDP) + frame->udp->len + word[0] +
	       word[1] + *frame->trial + payload->flow + payload->sequence + payload->time_low + payload->time_high;
}

/* Ethernet and IP. Addresses in network byte order; length is the packet's. */
static __always_inline void frame_write_ip(const struct trafficgen_plan *plan, struct frame *frame, __u32 side,
					   __u32 source, __u32 destination, __u8 protocol, __u16 length)
{
	__u32 *word = (void *)frame->ip;

	side &= 1;
	frame->mac[0] = plan->mac[side][0];
	frame->mac[1] = plan->mac[side][1];
	frame->mac[2] = plan->mac[side][2];
	*frame->type = bpf_htons(ETH_P_IP);
	word[0] = bpf_htonl(0x45000000 | length);
	word[1] = bpf_htonl(0x4000); /* may not be fragmented */
	word[2] = bpf_htonl(FRAME_TTL << 24 | protocol << 16);
	frame->ip->saddr = source;
	frame->ip->daddr = destination;
	frame->ip->check = ~checksum_fold(frame_ip_sum(frame));
}

/* Addresses and ports in network byte order. */
static __always_inline void frame_write(const struct trafficgen_plan *plan, struct frame *frame, __u32 side,
					__u32 source, __u32 destination, __u32 ports)
{
	__u16 length = plan->length - sizeof(struct ethhdr);
	__u32 *word = (void *)frame->udp;

	frame_write_ip(plan, frame, side, source, destination, IPPROTO_UDP, length);
	word[0] = ports;
	word[1] = bpf_htons(length - sizeof(struct iphdr)); /* and no checksum yet */
	frame->udp->check = (__u16)~checksum_fold(frame_udp_sum(frame)) ?: 0xffff;
}

/* A checksum of zero says that the sender made none, and the tester's always has one. */
static __always_inline bool frame_intact(const struct frame *frame)
{
	return checksum_fold(frame_ip_sum(frame)) == 0xffff && frame->udp->check != 0 &&
	       checksum_fold(frame_udp_sum(frame)) == 0xffff;
}
