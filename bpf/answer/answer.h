/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the data plane says itself: ARP answers for addresses that are on no interface, and ICMP errors (RFC 792,
 * RFC 1812 §4.3.2) to the sender of a packet that cannot pass. Answers are redirected to the interface that the
 * question came from; XDP_TX would be lost on veth.
 */
#pragma once

#include "../packet/packet.h"
#include "../include/verdict.h"

#define ICMP_PER_TICK	    256 /* errors sent by each CPU: about 1,000 a second (RFC 1812 §4.3.2.8) */
#define ICMP_EMBEDDED	    8	/* bytes quoted behind the IP header */
#define ICMP_ERROR_TTL	    64
#define ICMP_ERROR_TOS	    0xc0 /* internetwork control (RFC 1812 §4.3.2.5) */
#define ICMP_ERROR_OVERHEAD (sizeof(struct iphdr) + sizeof(struct icmphdr))

struct arp_ipv4 {
	__u16 hardware;
	__u16 protocol;
	__u8 hardware_length;
	__u8 protocol_length;
	__u16 operation;
	__u8 sender_mac[6];
	__u8 sender[4];
	__u8 target_mac[6];
	__u8 target[4];
};

/* REASON_NONE when the answer is in the frame, else the kernel's business. */
__noinline enum reason arp_answer(ctx_t *ctx)
{
	struct ethhdr *eth = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	struct arp_ipv4 *arp = (void *)(eth + 1);
	struct in6 mapped = {{0, 0, bpf_htonl(0xffff), 0}};
	__u32 ifindex = ctx_ifindex(ctx), target;
	struct interface *interface;
	struct address *address;

	if ((void *)(arp + 1) > end)
		return REASON_DROP_MALFORMED;
	if (arp->hardware != bpf_htons(1) || arp->protocol != bpf_htons(ETH_P_IP) || arp->operation != bpf_htons(1))
		return REASON_TO_GATEWAY;
	__builtin_memcpy(&target, arp->target, 4);
	address = bpf_map_lookup_elem(&address_table, &target);
	interface = bpf_map_lookup_elem(&interface_table, &ifindex);
	if (!address || address->local || !interface)
		return REASON_TO_GATEWAY;
	/* By another link of this network the gateway asks whether somebody else has the address. */
	__builtin_memcpy(&mapped.word[3], arp->sender, 4);
	if (bpf_map_lookup_elem(&own_addresses, &mapped))
		return REASON_TO_GATEWAY;
	arp->operation = bpf_htons(2);
	__builtin_memcpy(arp->target_mac, arp->sender_mac, 6);
	__builtin_memcpy(arp->target, arp->sender, 4);
	__builtin_memcpy(arp->sender_mac, interface->mac, 6);
	__builtin_memcpy(arp->sender, &target, 4);
	__builtin_memcpy(eth->h_dest, eth->h_source, 6);
	__builtin_memcpy(eth->h_source, interface->mac, 6);
	return REASON_NONE;
}

/*
 * What stands behind the quote of a packet whose checksum was left to an interface: that one fills in the last two octets
 * of the answer in its stead. The two before them make this 0, or 0xffff, so that the ICMP checksum holds (RFC 1071).
 */
#define ICMP_SEAL 4

#define ICMP_SEALED 18 /* most octets that it sums up: to the checksum of TCP, and that */

/* ip_length: of the whole error; l4: where its ICMP header begins. */
__noinline bool icmp_seal(ctx_t *ctx, __u32 ip_length, __u32 l4)
{
	__u8 summed[(ICMP_SEALED + 3) / 4 * 4] = {};
	__u32 start = sum_start(ctx), end = ETH_HLEN + ip_length;
	__u16 field, delta;

	if (!start)
		return true;
	if (end == start + ICMP_SEALED) {
		if (ctx_load(ctx, start, summed, ICMP_SEALED))
			return false;
	} else if (end != start + 8 || ctx_load(ctx, start, summed, 8)) { /* UDP */
		return false;
	}
	delta = ~checksum_fold(bpf_csum_diff(0, 0, (__be32 *)summed, sizeof(summed), 0));
	if (ctx_load(ctx, end - ICMP_SEAL, &field, sizeof(field)))
		return false;
	field = checksum_add(field, delta);
	if (ctx_store(ctx, end - ICMP_SEAL, &field, sizeof(field)) || ctx_load(ctx, l4 + 2, &field, sizeof(field)))
		return false;
	field = checksum_update(field, delta);
	return !ctx_store(ctx, l4 + 2, &field, sizeof(field));
}

/*
 * The octets that go before the packet, so that what an interface is to fill in comes to lie at the error's end; 0: it
 * cannot.
 */
static __always_inline __u32 icmp_seal_front(const struct packet *packet, __u32 start)
{
	__u32 field = packet->tuple.protocol == IPPROTO_TCP ? 16 : 6;

	if (start != packet->l4 || (packet->tuple.protocol != IPPROTO_TCP && packet->tuple.protocol != IPPROTO_UDP))
		return 0;
	return ICMP_ERROR_OVERHEAD + ICMP_EMBEDDED + ICMP_SEAL - sizeof(__u16) - field;
}

struct icmp_error {
	__u8 type;
	__u8 code;
	__u16 mtu;  /* of the next hop, host byte order; 0 for other errors */
	__u32 from; /* whose it is; 0: the interface's, within ICMP_PER_TICK */
};

__noinline bool icmp_error_frame(ctx_t *ctx, const struct packet *packet, struct icmp_error *error)
{
	__u32 ifindex = ctx_ifindex(ctx);
	struct interface *interface = bpf_map_lookup_elem(&interface_table, &ifindex);
	struct budget *budget = budget_get();
	struct {
		struct iphdr ip;
		struct icmphdr icmp;
	} out = {};
	__u8 quote[60 + ICMP_EMBEDDED + ICMP_SEAL] = {};
	__u32 start = sum_start(ctx), front = ICMP_ERROR_OVERHEAD, length, ip_length;
	struct ethhdr link;
	void *data, *end;

	if (!packet || !error || !interface || !budget || packet->kind == PACKET_ICMP_ERROR)
		return false;
	if (!error->from && (!interface->address || budget->icmp++ >= ICMP_PER_TICK))
		return false;
	length = packet->l4 - ETH_HLEN + ICMP_EMBEDDED;
	if (length < sizeof(struct iphdr) + ICMP_EMBEDDED || length > sizeof(quote) - ICMP_SEAL)
		return false;
	if (ctx_load(ctx, 0, &link, sizeof(link)) || ctx_load(ctx, ETH_HLEN, quote, length))
		return false;
	if (link.h_dest[0] & 1) /* no errors about broadcasts (RFC 1812 §4.3.2.7) */
		return false;
	if (start)
		front = icmp_seal_front(packet, start);
	if (!front)
		return false;
	ip_length = ICMP_ERROR_OVERHEAD + length + (start ? ICMP_SEAL : 0);
	out.icmp.type = error->type;
	out.icmp.code = error->code;
	out.icmp.un.frag.mtu = bpf_htons(error->mtu);
	out.icmp.checksum = ~checksum_fold(bpf_csum_diff(
		0, 0, (__be32 *)quote, sizeof(quote), bpf_csum_diff(0, 0, (__be32 *)&out.icmp, sizeof(out.icmp), 0)));
	out.ip.version = 4;
	out.ip.ihl = 5;
	out.ip.tot_len = bpf_htons(ip_length);
	out.ip.tos = ICMP_ERROR_TOS;
	out.ip.ttl = ICMP_ERROR_TTL;
	out.ip.protocol = IPPROTO_ICMP;
	out.ip.saddr = error->from ? error->from : interface->address;
	out.ip.daddr = packet->tuple.source;
	out.ip.check = ~checksum_fold(bpf_csum_diff(0, 0, (__be32 *)&out.ip, sizeof(out.ip), 0));
	if (!ctx_resize(ctx, front, ETH_HLEN + ip_length))
		return false;
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	if (data + ETH_HLEN + ICMP_ERROR_OVERHEAD > end)
		return false;
	__builtin_memcpy(((struct ethhdr *)data)->h_dest, link.h_source, 6);
	__builtin_memcpy(((struct ethhdr *)data)->h_source, interface->mac, 6);
	((struct ethhdr *)data)->h_proto = bpf_htons(ETH_P_IP);
	__builtin_memcpy(data + ETH_HLEN, &out, sizeof(out));
	if (start && ctx_store(ctx, ETH_HLEN + ICMP_ERROR_OVERHEAD, quote, length + ICMP_SEAL))
		return false;
	count_statistic(STATISTIC_ICMP_ERRORS_SENT);
	return true;
}

/* Turns the frame into an ICMP error to its sender; false when none is due or possible. */
static __always_inline bool icmp_error_write(ctx_t *ctx, const struct packet *packet, struct icmp_error *error)
{
	__u32 sealed = ICMP_ERROR_OVERHEAD + packet->l4 - ETH_HLEN + ICMP_EMBEDDED + ICMP_SEAL;

	return icmp_error_frame(ctx, packet, error) && icmp_seal(ctx, sealed, ETH_HLEN + sizeof(struct iphdr));
}

/*
 * Drops the packet for the reason and tells its sender why. Only senders inside are told, but for what path MTU
 * discovery and traceroute need (RFC 4787 REQ-13, RFC 5508 REQ-8). The error about a hairpin is addressed to the
 * sender's outside endpoint and goes back the way of its answers.
 */
static __always_inline int refuse(ctx_t *ctx, const struct packet *packet, enum reason reason, enum side side,
				  __u8 type, __u8 code, __u16 mtu)
{
	struct icmp_error error = {.type = type, .code = code, .mtu = mtu};

	reason_count(reason);
	drop_sample(ctx, packet, reason, side);
	if (!icmp_error_write(ctx, packet, &error))
		return CTX_DROP;
	if (packet->hairpin) {
		hairpin_enter(ctx, packet);
		return CTX_DROP;
	}
	return ctx_redirect(ctx, ctx_ifindex(ctx));
}
