// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The function "first-bytes": judges a flow of TCP or UDP by the first bytes that its opener sends, with an automaton
 * that automaton.go makes of all signatures: one step a byte, until what they say is known. Packets without payload
 * pass; when the first with some has passed, the flow is not asked about any more.
 */

//go:build ignore

#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <stdbool.h>
#include <bpf/bpf_endian.h>

#include "ctx.h"
#include "nf.h"

enum first_bytes_limit {
	FIRST_BYTES_MOST = 32, /* bytes of a signature */
	FIRST_BYTES_NODES = 4096,
};

/* What a byte leads to: a node, or an end. */
enum first_bytes_end {
	FIRST_BYTES_PASS = 0xfffe,
	FIRST_BYTES_DROP = 0xffff,
};

/* What has been read says nothing yet. The first node is the beginning. */
struct first_bytes_node {
	__u16 next[256];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct first_bytes_node);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_RDONLY_PROG);
} first_bytes_nodes SEC(".maps");

/*
 * Where a packet's payload begins and ends, in the frame. False where it is no packet of the flow, as an ICMP error that is
 * about it. The gateway has parsed it: lengths are right, and it is no fragment.
 */
static __always_inline bool payload_find(ctx_t *ctx, const struct nf_packet *packet, __u32 *from, __u32 *to)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct iphdr *ip = data + ETH_HLEN;
	struct tcphdr *tcp;
	__u32 l4;

	if ((void *)(ip + 1) > end || ip->protocol != packet->protocol)
		return false;
	l4 = ETH_HLEN + ip->ihl * 4;
	*to = ETH_HLEN + bpf_ntohs(ip->tot_len);
	if (packet->protocol == IPPROTO_UDP) {
		*from = l4 + sizeof(struct udphdr);
		return true;
	}
	tcp = data + l4;
	if (packet->protocol != IPPROTO_TCP || (void *)(tcp + 1) > end)
		return false;
	*from = l4 + tcp->doff * 4;
	return true;
}

SEC(CTX_SECTION)
int nf_first_bytes(ctx_t *ctx)
{
	struct nf_packet *packet = nf_packet();
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 from, to, node = 0, i;

	if (!packet)
		return NF_FAIL;
	if (packet->answers || packet->payload == NF_PAYLOAD_DONE)
		return NF_CONTINUE;
	if (packet->fragment) { /* another may be put over what it says */
		packet->payload = NF_PAYLOAD_FIRST;
		return NF_FAIL;
	}
	if (!payload_find(ctx, packet, &from, &to) || from >= to)
		return NF_CONTINUE;
	packet->payload = NF_PAYLOAD_FIRST;
	for (i = 0; i < FIRST_BYTES_MOST; i++) {
		const struct first_bytes_node *at = bpf_map_lookup_elem(&first_bytes_nodes, &node);
		__u8 *byte = data + (from & 0xff) + i;

		if (!at || from + i >= to || (void *)(byte + 1) > end)
			break;
		node = at->next[*byte];
		if (node == FIRST_BYTES_PASS)
			return NF_CONTINUE;
		if (node == FIRST_BYTES_DROP)
			return NF_DROP;
	}
	return NF_FAIL; /* too few bytes to tell */
}

/* For Go. */
struct exported {
	enum first_bytes_limit limit;
	enum first_bytes_end end;
};
const struct exported *exported __attribute__((unused));

char _license[] SEC("license") = "Dual BSD/GPL";
