/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finding links, and counting what goes by them. */
#pragma once

#include "../guard/ban.h"
#include "../include/maps.h"

enum link_way {
	LINK_WAY_OUT,
	LINK_WAY_IN,
};

static __always_inline struct link *link_at(__u32 number)
{
	return bpf_map_lookup_elem(&link_table, &number);
}

/* The link that a VNI from the wire says; 0: there is none. */
static __always_inline struct link *link_of_vni(__u32 vni)
{
	struct link *link = link_at(vni & (LINK_NUMBERS - 1));

	return link && vni && *(volatile __u32 *)&link->vni_here == vni ? link : 0;
}

/* The link of a pact, if packets may leave by it. */
static __always_inline struct link *link_to_send(__u32 number)
{
	struct link *link = link_at(number);

	return link && *(volatile __u32 *)&link->vni_here && link->state == LINK_UP && link->send_epoch != EPOCH_NONE &&
			       !is_banned(link->remote)
		       ? link
		       : 0;
}

static __always_inline void link_count(__u32 number, enum link_way way, __u32 octets)
{
	struct link_count *count = bpf_map_lookup_elem(&link_counts, &number);

	if (DRY || !count)
		return;
	count->packets[way]++;
	count->octets[way] += octets;
}

static __always_inline void link_count_refused(__u32 number)
{
	struct link_count *count = bpf_map_lookup_elem(&link_counts, &number);

	if (!DRY && count)
		count->refused++;
}
