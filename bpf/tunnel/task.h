/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the daemon does with pacts and links, one request at a time: the word that makes a record valid is written last and
 * cleared first. Who has found a record just before it is cleared may still use it; the daemon waits for those.
 */
#pragma once

#include "../include/errno.h"
#include "../packet/checksum.h"
#include "pact.h"
#include "link.h"

/* The place of a pact's proxy address, 0: it has none. */
static __always_inline __u16 *proxy_place(__u32 proxy)
{
	struct control *control = control_get();
	__u32 place, group;
	struct proxy_places *places;

	if (!control || !address_is_proxy(control, proxy))
		return 0;
	place = bpf_ntohl(proxy) - control->proxy_first;
	group = place / PROXY_GROUP;
	places = bpf_map_lookup_elem(&proxy_table, &group);
	return places ? &places->pact[place % PROXY_GROUP] : 0;
}

/* Whether a pact that stands has the proxy address, at whose place is its number. */
static __always_inline bool proxy_is_taken(__u16 number, __u32 proxy)
{
	struct pact *pact = number ? pact_at(number) : 0;

	return pact && pact->own_tag && pact->proxy == proxy;
}

/*
 * What a pact's terms are. A packet may see some of them new and some old, as long as the daemon has not been answered; it
 * has taken the services of a pact that stands away, and waited, before it gives it others.
 */
static __always_inline void pact_agree(struct pact *pact, const struct pact *terms)
{
	if (terms->services) {
		*(__u32 *)pact->protocol = *(const __u32 *)terms->protocol;
		*(__u64 *)pact->port = *(const __u64 *)terms->port;
		*(__u64 *)pact->to = *(const __u64 *)terms->to;
		barrier();
	}
	*(volatile __u8 *)&pact->services = terms->services;
	pact->rate = terms->rate;
	pact->most = terms->most;
	pact->until = terms->until;
	pact->flags = terms->flags;
}

/* Makes a pact, in the place of one that has ended. */
static __always_inline int put_pact_run(struct pact_request *request)
{
	const struct pact *terms = &request->pact;
	struct pact *pact = pact_at(request->number);
	__u16 *place = proxy_place(terms->proxy);

	if (!request->number || !pact || !terms->own_tag || (terms->own_tag & (PACT_NUMBERS - 1)) != request->number)
		return -EINVAL;
	if (!place)
		return -ENOENT;
	if (pact->own_tag || proxy_is_taken(*place, terms->proxy))
		return -EEXIST;
	pact->peer_tag = terms->peer_tag;
	pact->host = terms->host;
	pact->proxy = terms->proxy;
	pact->used = terms->used;
	pact->link = terms->link;
	pact->delta = checksum_add(checksum_delta(terms->host, bpf_htonl(terms->own_tag)),
				   checksum_delta(terms->proxy, bpf_htonl(terms->peer_tag)));
	pact_agree(pact, terms);
	__sync_lock_test_and_set(&pact->own_tag, terms->own_tag); /* a full barrier */
	*(volatile __u16 *)place = request->number;
	return 0;
}

/* Gives one that stands other terms. */
static __always_inline int change_pact_run(struct pact_request *request)
{
	struct pact *pact = pact_at(request->number);

	if (!request->number || !pact || !request->pact.own_tag || pact->own_tag != request->pact.own_tag)
		return -ENOENT;
	pact_agree(pact, &request->pact);
	return 0;
}

static __always_inline int end_pact_run(struct pact_request *request)
{
	struct pact *pact = pact_at(request->number);
	__u16 *place;

	if (!request->number || !pact || !request->pact.own_tag || pact->own_tag != request->pact.own_tag)
		return -ENOENT;
	*(volatile __u32 *)&pact->own_tag = 0;
	place = proxy_place(pact->proxy);
	if (place && *place == request->number)
		*(volatile __u16 *)place = 0;
	return 0;
}

/* No packet goes or comes by any key. */
static __always_inline void link_forget_epochs(struct link *link)
{
	*(volatile __u8 *)&link->send_epoch = EPOCH_NONE;
	*(volatile __u8 *)&link->receive_epoch[0] = EPOCH_NONE;
	*(volatile __u8 *)&link->receive_epoch[1] = EPOCH_NONE;
}

/* Makes a link, or gives the one of the same VNI another state, MTU or way: its keys stay. */
static __always_inline int put_link_run(struct link_request *request)
{
	const struct link *wanted = &request->link;
	struct link *link = link_at(request->number);
	__u32 vni = wanted->vni_here;

	if (!request->number || !link || !vni || (vni & (LINK_NUMBERS - 1)) != request->number)
		return -EINVAL;
	if (link->vni_here != vni) {
		*(volatile __u32 *)&link->vni_here = 0;
		barrier();
		link_forget_epochs(link);
		link->heard = 0;
	}
	link->local = wanted->local;
	link->remote = wanted->remote;
	link->next_hop = 0;
	__builtin_memcpy(link->header, wanted->header, sizeof(link->header));
	link->mtu = wanted->mtu;
	link->state = wanted->state;
	__sync_lock_test_and_set(&link->vni_here, vni);
	return 0;
}

/* A key in the place of the last but one. */
static __always_inline int put_link_key_run(struct link_request *request)
{
	struct link *link = link_at(request->number);
	__u8 epoch = request->epoch, slot = epoch & 1;

	if (!request->number || !link || !link->vni_here || link->vni_here != request->link.vni_here)
		return -ENOENT;
	if (epoch > 0x7f)
		return -EINVAL;
	if (request->out) {
		link->send_key[slot][0] = request->key[0];
		link->send_key[slot][1] = request->key[1];
		barrier();
		*(volatile __u8 *)&link->send_epoch = epoch;
		return 0;
	}
	*(volatile __u8 *)&link->receive_epoch[slot] = EPOCH_NONE;
	barrier();
	link->receive_key[slot][0] = request->key[0];
	link->receive_key[slot][1] = request->key[1];
	barrier();
	*(volatile __u8 *)&link->receive_epoch[slot] = epoch;
	return 0;
}

/* The end of a link, and when no packet is under way that has found it, by a request of VNI 0, that of its keys. */
static __always_inline int end_link_run(struct link_request *request)
{
	struct link *link = link_at(request->number);

	if (!request->number || !link || link->vni_here != request->link.vni_here)
		return -ENOENT;
	if (link->vni_here) {
		*(volatile __u32 *)&link->vni_here = 0;
		barrier();
		link_forget_epochs(link);
		return 0;
	}
	__builtin_memset(link, 0, sizeof(*link)); /* no key stays */
	barrier();
	link_forget_epochs(link);
	return 0;
}

SEC("syscall")
int put_pact(struct pact_request *request)
{
	request->error = put_pact_run(request);
	return 0;
}

SEC("syscall")
int change_pact(struct pact_request *request)
{
	request->error = change_pact_run(request);
	return 0;
}

SEC("syscall")
int end_pact(struct pact_request *request)
{
	request->error = end_pact_run(request);
	return 0;
}

SEC("syscall")
int put_link(struct link_request *request)
{
	request->error = put_link_run(request);
	return 0;
}

SEC("syscall")
int put_link_key(struct link_request *request)
{
	request->error = put_link_key_run(request);
	return 0;
}

SEC("syscall")
int end_link(struct link_request *request)
{
	request->error = end_link_run(request);
	return 0;
}
