// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sends frames of the daemon's, which so needs no right to open packet sockets (CAP_NET_RAW): a test run over a frame sends
 * a copy of it. A test run takes less than a page; the rest of a longer frame comes by a table.
 */
#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>

#include "include/errno.h"

enum send_word {
	SEND_BY,   /* of the context's cb: the interface */
	SEND_REST, /* how many octets the table has */
};

#define SEND_CHUNK 4096 /* a power of 2 */

#define SEND_MOST (3 * SEND_CHUNK) /* octets; bpf_skb_change_tail makes no more of a frame than four pages hold */

struct send_rest {
	__u8 octets[SEND_MOST];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct send_rest);
	__uint(max_entries, 1);
} send_rest SEC(".maps");

static __always_inline bool send_append(struct __sk_buff *skb, __u32 octets)
{
	__u32 zero = 0, begin = skb->len;
	struct send_rest *rest = bpf_map_lookup_elem(&send_rest, &zero);

	if (!rest || octets > SEND_MOST || bpf_skb_change_tail(skb, begin + octets, 0))
		return false;
	for (__u32 at = 0; at < SEND_MOST; at += SEND_CHUNK) {
		__u32 left = octets - at, length = left < SEND_CHUNK ? left : SEND_CHUNK;

		if (at >= octets)
			break;
		barrier_var(length); /* the verifier is to see the bounds */
		if (!length || length > SEND_CHUNK ||
		    bpf_skb_store_bytes(skb, begin + at, rest->octets + at, length, 0))
			return false;
	}
	return true;
}

SEC("tc")
int frame_send(struct __sk_buff *skb)
{
	__u32 rest = skb->cb[SEND_REST];

	if (rest && !send_append(skb, rest))
		return -EINVAL;
	return bpf_clone_redirect(skb, skb->cb[SEND_BY], 0);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
