/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Copies of packets for who captures. There is a ring only while somebody does: it takes no memory at other times. It is
 * one for all CPUs, so that copies come in the order in which they were made.
 */
#pragma once

#include "../include/nf.h"

#define CAPTURE_RING (1 << 22) /* bytes */
#define CAPTURE_PART 256       /* a packet is copied in parts of so many bytes, and takes whole ones of the ring */
#define CAPTURE_MOST 65535     /* bytes of a packet */

/* What stands before the packet. */
struct capture_record {
	__u64 at;	/* CLOCK_MONOTONIC, ns */
	__u32 function; /* its number in nf_counts */
	__u32 length;	/* of the frame */
	__u32 captured; /* of these, what follows */
	__u32 source;	/* from here on as in nf_packet */
	__u32 destination;
	__u16 source_port;
	__u16 destination_port;
	__u8 protocol;
	__u8 direction;
	__u8 answers;
	__u8 pad;
	__u32 ifindex; /* by which it came in */
};

/* How much of a packet is wanted of each function that says NF_TO_USER, bytes; 0: nobody captures. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u32);
	__uint(max_entries, NF_COUNTS);
} capture_snaps SEC(".maps");

struct capture_ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, CAPTURE_RING);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__type(key, __u32);
	__uint(max_entries, 1);
	__array(values, struct capture_ring);
} capture_rings SEC(".maps");
