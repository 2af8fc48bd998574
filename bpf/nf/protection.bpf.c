// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The functions "allowlist", "blocklist", "ports", "honeypot" and "geofence", which are asked before the chain of a
 * flow and in this order. What they know of all addresses is one table, and of all ports another: the first looks for
 * the flow's remote address, "ports" for its port, and the others only at what those found. What is on the allowlist
 * they leave alone.
 */
#include <linux/in.h>
#include <stdbool.h>

#include "../guard/port_marks.h"
#include "../guard/remote.h"

#define TCP_SYN 0x02

static __always_inline enum nf_verdict remote_drop(enum remote_mark mark)
{
	struct nf_packet *packet = nf_packet();

	if (!packet)
		return NF_DROP;
	return (packet->remote & (mark | REMOTE_ALLOWED)) == mark ? NF_DROP : NF_CONTINUE;
}

SEC("xdp")
int nf_allowlist(struct xdp_md *ctx)
{
	struct nf_packet *packet = nf_packet();

	if (!packet)
		return NF_DROP;
	return remote_find(packet, &packet->remote) ? NF_CONTINUE : NF_FAIL;
}

SEC("xdp")
int nf_blocklist(struct xdp_md *ctx)
{
	return remote_drop(REMOTE_BLOCKED);
}

/* The gateway's end of a packet that answers is where it came to, though its flow is one of the gateway's own. */
SEC("xdp")
int nf_ports(struct xdp_md *ctx)
{
	struct nf_packet *packet = nf_packet();
	__u8 marks;

	if (!packet)
		return NF_DROP;
	marks = port_marks_of(packet->protocol, packet->public_port);
	if (packet->hook == NF_HOOK_INPUT && packet->answers)
		marks = (marks & ~PORT_HONEYPOT) |
			(port_marks_of(packet->protocol, packet->source_port) & PORT_HONEYPOT);
	packet->ports |= marks;
	return NF_CONTINUE;
}

SEC("xdp")
int nf_honeypot(struct xdp_md *ctx)
{
	struct nf_packet *packet = nf_packet();

	if (!packet)
		return NF_DROP;
	if ((packet->remote & REMOTE_ALLOWED) || (packet->ports & (PORT_HONEYPOT | PORT_IGNORED)) != PORT_HONEYPOT ||
	    packet->honeypot == NF_HONEYPOT_EXEMPT)
		return NF_CONTINUE;
	if (packet->hook == NF_HOOK_INPUT && packet->protocol == IPPROTO_TCP && !(packet->tcp_flags & TCP_SYN)) {
		packet->honeypot = NF_HONEYPOT_HIT; /* the gateway looks whether it ends a handshake */
		return NF_CONTINUE;
	}
	if (packet->direction != NF_IN)
		return NF_CONTINUE;
	packet->honeypot = NF_HONEYPOT_HIT;
	return NF_DROP;
}

SEC("xdp")
int nf_geofence(struct xdp_md *ctx)
{
	struct nf_packet *packet = nf_packet();

	if (packet && (packet->ports & (PORT_IGNORED | PORT_UNMONITORED)))
		return NF_CONTINUE;
	return remote_drop(REMOTE_FENCED);
}

/* For Go. */
struct exported {
	enum remote_mark remote;
	enum port_mark port;
};
const struct exported *exported __attribute__((unused));

char _license[] SEC("license") = "Dual BSD/GPL";
