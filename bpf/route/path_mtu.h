/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How long packets of a session may be on the gateway's links to either side, for SYNs, which tell both ends (mss.h).
 */
#pragma once

#include "../include/errno.h"
#include "../packet/mss.h"
#include "next_hop.h"
#include "../conntrack/session.h"

#define MTU_NONE 65535

/* Of an interface; 0 means the one that the frame came in by. */
static __always_inline __u32 interface_mtu(ctx_t *ctx, __u32 ifindex)
{
	__u32 mtu = 0;

	return bpf_check_mtu(ctx, ifindex, &mtu, 0, 0) < 0 ? MTU_NONE : mtu;
}

/* On the way of the session's packets to where no next hop is known yet: the route's, or its interface's. */
__noinline __u32 unknown_mtu(ctx_t *ctx, const struct session *session, enum direction direction)
{
	struct bpf_fib_lookup fib = {.family = AF_INET, .ifindex = ctx_ifindex(ctx), .tot_len = 1};
	bool out = direction == DIRECTION_OUT;
	long code;

	if (!session)
		return MTU_NONE;
	fib.ipv4_src = out ? session->external_address : session->remote_address;
	fib.ipv4_dst = out ? session->remote_address : session->private_address;
	code = bpf_fib_lookup(ctx, &fib, sizeof(fib), BPF_FIB_LOOKUP_SKIP_NEIGH);
	if (code == BPF_FIB_LKUP_RET_SUCCESS)
		return fib.mtu_result;
	if (code != -EINVAL) /* before Linux 6.3 */
		return MTU_NONE;
	code = bpf_fib_lookup(ctx, &fib, sizeof(fib), 0);
	return code == BPF_FIB_LKUP_RET_NO_NEIGH ? interface_mtu(ctx, fib.ifindex) : MTU_NONE;
}

/* Lowers the MSS of a SYN that goes on with mtu, 0 where that is not known, to what fits the links of both sides. */
__noinline int path_clamp(ctx_t *ctx, const struct packet *packet, const struct session *session, __u32 mtu,
			  enum direction direction)
{
	struct settings *settings;
	struct next_hop *back;
	__u32 came, most, there = MTU_NONE;

	if (!packet || !session)
		return 0;
	settings = settings_get(packet->generation);
	if (!settings || settings->mss == MSS_OFF)
		return 0;
	if (!mtu)
		mtu = unknown_mtu(ctx, session, direction);
	came = interface_mtu(ctx, 0);
	back = next_hop_at(direction == DIRECTION_OUT ? session->next_hop_in : session->next_hop_out);
	if (back && back->key.as.mtu)
		there = back->key.as.mtu;
	else if (came == MTU_NONE) /* what the daemon sends again comes by no link */
		there = unknown_mtu(ctx, session, !direction);
	if (came < mtu)
		mtu = came;
	if (there < mtu)
		mtu = there;
	most = mtu > MSS_HEADERS ? mtu - MSS_HEADERS : 1;
	if (settings->mss != MSS_AUTO && settings->mss < most)
		most = settings->mss;
	trace_step(TRACE_MTU, came == mtu, 0, 0, mtu);
	trace_step(TRACE_MSS, 0, 0, 0, most);
	return mss_clamp(ctx, packet, most);
}
