/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * TCP sessions whose both ends are scripted: ten packets, as a small page takes over HTTP/1.0 (Kadlecsik and Pasztor).
 * A block of sessions goes in step, so that every packet has arrived before the one that answers it is sent. A frame
 * of 64 octets has no room for a payload: the initial sequence number names the session, and the urgent pointer,
 * which says nothing without its flag, holds trial and step.
 */
#pragma once

#include <linux/tcp.h>

#include "measure.h"

enum tcp_limit { TCP_STEPS = 10, TCP_LEAST_LENGTH = 60 /* of an Ethernet frame without its check sequence */ };

enum tcp_flag { FIN = 0x01, SYN = 0x02, PSH = 0x08, ACK = 0x10 };

/* What a packet says: controls (SYN, FIN) and data segments before it, its own and the peer's. */
struct tcp_step {
	__u8 side;
	__u8 flags;
	__u8 carries; /* 1 for a data segment */
	__u8 control;
	__u8 data;
	__u8 peer_control;
	__u8 peer_data;
	__u8 unused;
};

static const struct tcp_step tcp_steps[16] = {
	{SIDE_INITIATOR, SYN, 0, 0, 0, 0, 0, 0},       {SIDE_RESPONDER, SYN | ACK, 0, 0, 0, 1, 0, 0},
	{SIDE_INITIATOR, ACK, 0, 1, 0, 1, 0, 0},       {SIDE_INITIATOR, PSH | ACK, 1, 1, 0, 1, 0, 0},
	{SIDE_RESPONDER, ACK, 0, 1, 0, 1, 1, 0},       {SIDE_RESPONDER, PSH | ACK, 1, 1, 0, 1, 1, 0},
	{SIDE_INITIATOR, ACK, 0, 1, 1, 1, 1, 0},       {SIDE_RESPONDER, FIN | ACK, 0, 1, 1, 1, 1, 0},
	{SIDE_INITIATOR, FIN | ACK, 0, 1, 1, 2, 1, 0}, {SIDE_RESPONDER, ACK, 0, 2, 1, 2, 1, 0},
};

/* Which packet of which session. */
struct tcp_turn {
	__u32 flow;
	__u32 step;
};

static __always_inline const struct tcp_step *tcp_step_at(__u32 step)
{
	if (step >= TCP_STEPS)
		return NULL;
	/* The compiler knows that it is below 16; the verifier may have forgotten. */
	asm volatile("%0 &= 15" : "+r"(step));
	return &tcp_steps[step];
}

/* The first session of the block that a frame belongs to. */
static __always_inline __u32 tcp_block_first(const struct trafficgen_plan *plan, __u32 number)
{
	__u32 block = plan->tcp_block ?: 1;

	return number / (block * TCP_STEPS) * block;
}

/* Sessions in that block: the last may have fewer. */
static __always_inline __u32 tcp_width(const struct trafficgen_plan *plan, __u32 number)
{
	__u32 left = plan->flows - tcp_block_first(plan, number);

	return (left < plan->tcp_block ? left : plan->tcp_block) ?: 1;
}

static __always_inline struct tcp_turn tcp_turn(const struct trafficgen_plan *plan, __u32 number)
{
	__u32 first = tcp_block_first(plan, number), width = tcp_width(plan, number);
	__u32 rest = number - first * TCP_STEPS;
	struct tcp_turn turn = {.flow = first + rest % width, .step = rest / width};

	return turn;
}

/* Octets of a data segment: they fill the frame. */
static __always_inline __u32 tcp_data(const struct trafficgen_plan *plan)
{
	return plan->length - sizeof(struct ethhdr) - sizeof(struct iphdr) - sizeof(struct tcphdr);
}

static __always_inline __u32 tcp_first(const struct trafficgen_plan *plan, const struct tcp_turn *turn, __u32 side)
{
	return side << 31 | turn->flow << (plan->tcp_shift & 31);
}

static __always_inline __u32 tcp_sequence(const struct trafficgen_plan *plan, const struct tcp_step *step,
					  const struct tcp_turn *turn)
{
	return tcp_first(plan, turn, step->side) + step->control + step->data * tcp_data(plan);
}

static __always_inline __u32 tcp_acknowledged(const struct trafficgen_plan *plan, const struct tcp_step *step,
					      const struct tcp_turn *turn)
{
	if (!(step->flags & ACK))
		return 0;
	return tcp_first(plan, turn, !step->side) + step->peer_control + step->peer_data * tcp_data(plan);
}

static __always_inline __u16 tcp_marker(const struct trafficgen_plan *plan, __u32 step)
{
	return plan->trial << 4 | step;
}

static __always_inline __u16 tcp_length(const struct trafficgen_plan *plan, const struct tcp_step *step)
{
	return sizeof(struct tcphdr) + step->carries * tcp_data(plan);
}

/* Only data segments are as long as the plan says. */
static __always_inline bool tcp_resize(const struct trafficgen_plan *plan, struct xdp_md *ctx,
				       const struct tcp_step *step)
{
	return step->carries || plan->length <= TCP_LEAST_LENGTH ||
	       bpf_xdp_adjust_tail(ctx, TCP_LEAST_LENGTH - (int)plan->length) == 0;
}

/* Like frame_at; what stands for UDP is where TCP begins. */
static __always_inline bool tcp_frame_at(struct xdp_md *ctx, struct frame *frame)
{
	void *data = (void *)(long)ctx->data;
	struct ethhdr *eth = data;

	frame->mac = data;
	frame->type = (__u16 *)data + ETH_ALEN;
	frame->ip = (void *)(eth + 1);
	frame->udp = (void *)(frame->ip + 1);
	return (void *)frame->udp + sizeof(struct tcphdr) <= (void *)(long)ctx->data_end;
}

/* Of pseudo-header and header, the checksum field with them. Data is all zeros. */
static __always_inline __u64 tcp_sum(const struct frame *frame, __u16 length)
{
	const __u32 *word = (const void *)frame->udp;

	return (__u64)frame->ip->saddr + frame->ip->daddr + bpf_htons(IPPROTO_TCP) + bpf_htons(length) + word[0] +
	       word[1] + word[2] + word[3] + word[4];
}

/* Addresses and ports in network byte order. */
static __always_inline void tcp_write(const struct trafficgen_plan *plan, struct frame *frame,
				      const struct tcp_step *step, const struct tcp_turn *turn, __u32 source,
				      __u32 destination, __u32 ports)
{
	__u16 length = tcp_length(plan, step);
	struct tcphdr *tcp = (void *)frame->udp;
	__u32 *word = (void *)tcp;

	frame_write_ip(plan, frame, step->side, source, destination, IPPROTO_TCP, sizeof(struct iphdr) + length);
	word[0] = ports;
	word[1] = bpf_htonl(tcp_sequence(plan, step, turn));
	word[2] = bpf_htonl(tcp_acknowledged(plan, step, turn));
	word[3] = bpf_htonl(0x50000000 | (__u32)step->flags << 16 | 0xffff);
	word[4] = bpf_htonl(tcp_marker(plan, turn->step));
	tcp->check = ~checksum_fold(tcp_sum(frame, length));
}

/* The step and the session of a frame of this trial, or nothing. */
static __always_inline const struct tcp_step *tcp_step_of(const struct trafficgen_plan *plan, const struct frame *frame,
							  struct tcp_turn *turn)
{
	const struct tcphdr *tcp = (const void *)frame->udp;
	__u16 marker = bpf_ntohs(tcp->urg_ptr);

	turn->step = marker & 15;
	turn->flow = (bpf_ntohl(tcp->seq) & 0x7fffffff) >> (plan->tcp_shift & 31);
	if (*frame->type != bpf_htons(ETH_P_IP) || *(__u8 *)frame->ip != 0x45 || frame->ip->protocol != IPPROTO_TCP ||
	    marker != tcp_marker(plan, turn->step))
		return NULL;
	return tcp_step_at(turn->step);
}

/* It says what it said when it was sent, and its checksums are right. */
static __always_inline bool tcp_intact(const struct trafficgen_plan *plan, const struct frame *frame,
				       const struct tcp_step *step, const struct tcp_turn *turn)
{
	const __u32 *word = (const void *)frame->udp;
	__u16 length = tcp_length(plan, step);

	return frame->ip->tot_len == bpf_htons(sizeof(struct iphdr) + length) &&
	       word[1] == bpf_htonl(tcp_sequence(plan, step, turn)) &&
	       word[2] == bpf_htonl(tcp_acknowledged(plan, step, turn)) &&
	       word[3] == bpf_htonl(0x50000000 | (__u32)step->flags << 16 | 0xffff) &&
	       checksum_fold(frame_ip_sum(frame)) == 0xffff && checksum_fold(tcp_sum(frame, length)) == 0xffff;
}
