// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The guard at the way out: what leaves by a public interface has no private source, whoever sent it, unless it goes to a
 * destination without NAT. Of packets that the data plane redirects there is none here, or those that it has translated;
 * the others are the kernel's own, forwarded for machines that are no hosts of ours, or sent by programs of the gateway. Nor
 * does it go to a proxy address: only the tunnel leads there.
 */
#include "include/errno.h"
#include "nat/except.h"
#include "route/next_hop.h"
#include "include/verdict.h"
#include "tunnel/proxy.h"

#define EGRESS_NEXT -1 /* to whoever is attached behind: TCX_NEXT, and TC_ACT_UNSPEC for a filter of clsact */
#define EGRESS_DROP 2  /* TCX_DROP, TC_ACT_SHOT */

/* RFC 1918 */
static __always_inline bool is_private_use(__u32 address)
{
	return (address & bpf_htonl(0xff000000)) == bpf_htonl(0x0a000000) ||
	       (address & bpf_htonl(0xfff00000)) == bpf_htonl(0xac100000) ||
	       (address & bpf_htonl(0xffff0000)) == bpf_htonl(0xc0a80000);
}

/* Whether the address is of the private realm, or of none that the interface's link knows. */
static __always_inline bool source_is_private(struct __sk_buff *skb, __u32 address)
{
	struct bpf_fib_lookup fib = {.family = AF_INET, .ifindex = skb->ifindex, .ipv4_dst = address};
	struct in6 mapped = {{0, 0, bpf_htonl(0xffff), address}};
	struct interface *interface;
	__u8 *side;
	long code;

	/* Pool and outbound addresses, and the public side's own, may be of private use: then so is the link. */
	if (!address || bpf_map_lookup_elem(&address_table, &address))
		return false;
	side = bpf_map_lookup_elem(&own_addresses, &mapped);
	if (side)
		return *side == SIDE_PRIVATE || (*side != SIDE_PUBLIC && is_private_use(address));
	code = bpf_fib_lookup(skb, &fib, sizeof(fib), BPF_FIB_LOOKUP_SKIP_NEIGH);
	if (code == -EINVAL) /* before Linux 6.3 */
		code = bpf_fib_lookup(skb, &fib, sizeof(fib), 0);
	switch (code) {
	case BPF_FIB_LKUP_RET_SUCCESS:
	case BPF_FIB_LKUP_RET_NO_NEIGH:
		interface = bpf_map_lookup_elem(&interface_table, &fib.ifindex);
		if (interface && interface->side == SIDE_PRIVATE)
			return true;
		if (!is_private_use(address))
			return false;
		/* By a bare interface a default route leads to everybody as to a neighbour. */
		return fib.ifindex != skb->ifindex || fib.ipv4_dst != address || (interface && interface->bare);
	case BPF_FIB_LKUP_RET_NOT_FWDED: /* the interface has got it this moment, and the daemon knows nothing of it yet */
		return false;
	default:
		return is_private_use(address);
	}
}

static __always_inline bool goes_without_nat(__u32 destination)
{
	struct control *control = control_get();

	return control && is_excepted(settings_get(*(volatile __u32 *)&control->generation), destination);
}

/* What a pact has left to us nobody else is to get: a proxy address is nowhere but here. */
static __always_inline bool goes_to_proxy(__u32 destination)
{
	struct control *control = control_get();

	return control && address_is_proxy(control, destination);
}

static __always_inline void sample(struct __sk_buff *skb, const struct iphdr *ip, enum reason reason)
{
	struct control *control = control_get();
	struct drop_event *event;
	__u64 length = drop_captures(skb->len);
	__be16 port[2] = {};

	if (!control || !(control->watch & WATCH_DROPS))
		return;
	if ((ip->protocol == IPPROTO_TCP || ip->protocol == IPPROTO_UDP) && !(ip->frag_off & bpf_htons(IP_OFFSET)) &&
	    bpf_skb_load_bytes_relative(skb, ip->ihl * 4, port, sizeof(port), BPF_HDR_START_NET))
		__builtin_memset(port, 0, sizeof(port));
	event = drop_begin(reason, SIDE_PUBLIC);
	if (!event)
		return;
	event->ifindex = skb->ifindex;
	event->source = ip->saddr;
	event->destination = ip->daddr;
	event->source_port = port[0];
	event->destination_port = port[1];
	event->length = skb->len;
	event->protocol = ip->protocol;
	if (length && length <= DROP_FRAME && !bpf_skb_load_bytes(skb, 0, event->frame, length))
		event->captured = length;
	bpf_ringbuf_submit(event, 0);
}

SEC("tc")
int gateway_egress(struct __sk_buff *skb)
{
	enum reason reason = REASON_DROP_PRIVATE_SOURCE;
	struct iphdr ip;

	/* What has a VLAN tag goes to another network than the public one. */
	if (skb->protocol != bpf_htons(ETH_P_IP) || skb->vlan_present ||
	    bpf_skb_load_bytes_relative(skb, 0, &ip, sizeof(ip), BPF_HDR_START_NET))
		return EGRESS_NEXT;
	if (goes_to_proxy(ip.daddr))
		reason = REASON_DROP_NO_PACT;
	else if (!source_is_private(skb, ip.saddr) || goes_without_nat(ip.daddr))
		return EGRESS_NEXT;
	reason_count(reason);
	sample(skb, &ip, reason);
	return EGRESS_DROP;
}

char _license[] SEC("license") = "Dual BSD/GPL";
