/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * By which outbound address a host leaves: one for all of its flows (RFC 4787 REQ-2). Which slot a share has changes when an
 * address comes or goes, and the group that it is in never does: packets of open sessions ask for the group alone.
 */
#pragma once

#include "../conntrack/index.h"
#include "../include/maps.h"

static __always_inline __u32 share_of(__u32 private_address)
{
	return hash_words(private_address, 0) >> (64 - SHARE_BITS);
}

/* One of as many groups as there were outbound addresses at the start. */
static __always_inline __u32 group_of(__u32 private_address)
{
	return share_of(private_address) * fixed.groups >> SHARE_BITS;
}

/* The slot of a host, or NO_SLOT. */
static __always_inline __u32 slot_of(__u32 private_address)
{
	__u32 zero = 0;
	struct shares *shares = bpf_map_lookup_elem(&share_table, &zero);

	return shares ? *(volatile __u8 *)&shares->slot[share_of(private_address) & (SHARES - 1)] : NO_SLOT;
}

/* Its address, or the last one that it had: who opens a session while the address goes uses it to the end. */
static __always_inline __u32 slot_address(__u32 number)
{
	struct slot *slot = bpf_map_lookup_elem(&slot_table, &number);

	return slot ? *(volatile __u32 *)&slot->address : 0;
}
