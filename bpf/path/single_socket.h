/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connections of a single machine that were open before there were sessions of them. Its sockets tell: one is connected, and
 * where another waits at the same port, the connection came in.
 */
#pragma once

#include "../include/maps.h"
#include "../packet/packet.h"

/* How the connection that a segment without SYN would be of stands. */
enum connection {
	CONNECTION_NONE, /* it is none of this machine's */
	CONNECTION_IN,	 /* open, and came in */
	CONNECTION_OUT,	 /* open, and the machine began it */
};

/* The state of the socket that a segment with that tuple comes to, an enum of BPF_TCP_ESTABLISHED and so on; 0: none. */
static __always_inline __u32 socket_state(ctx_t *ctx, struct bpf_sock_tuple *tuple)
{
	struct bpf_sock *sock = bpf_skc_lookup_tcp(ctx, tuple, sizeof(tuple->ipv4), BPF_F_CURRENT_NETNS, 0);
	__u32 state;

	if (!sock)
		return 0;
	state = sock->state;
	bpf_sk_release(sock);
	return state;
}

/* flow: as the other end sends it. */
__noinline enum connection connection_of(ctx_t *ctx, const struct tuple *flow)
{
	struct bpf_sock_tuple tuple = {};
	__u32 state;

	if (!flow)
		return CONNECTION_NONE;
	tuple.ipv4.saddr = flow->source;
	tuple.ipv4.sport = flow->source_port;
	tuple.ipv4.daddr = flow->destination;
	tuple.ipv4.dport = flow->destination_port;
	state = socket_state(ctx, &tuple);
	if (!state || state == BPF_TCP_LISTEN || state == BPF_TCP_TIME_WAIT)
		return CONNECTION_NONE;
	tuple.ipv4.saddr = 0;
	tuple.ipv4.sport = 0;
	return socket_state(ctx, &tuple) == BPF_TCP_LISTEN ? CONNECTION_IN : CONNECTION_OUT;
}
