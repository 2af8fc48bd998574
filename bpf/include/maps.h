/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Every table of the data plane. Sizes of 1 are set by the daemon before loading. All tables outlive the daemon
 * (they are pinned), all are bounded; docs/reference/tables.md says what happens when one is full.
 *
 * The kernel begins the values of an array at a page only where it can be mapped into memory: without
 * BPF_F_MMAPABLE each bucket and stripe would lie in two cache lines.
 */
#pragma once

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "../trace/capture.h"
#include "../trace/dry.h"
#include "messages.h"
#include "nf.h"
#include "../question/types.h"
#include "reason.h"
#include "tail.h"
#include "types.h"

const volatile struct layout fixed;

#define TABLE(name, map_type, key_type, value_type, entries, flags) \
	struct {                                                    \
		__uint(type, map_type);                             \
		__type(key, key_type);                              \
		__type(value, value_type);                          \
		__uint(max_entries, entries);                       \
		__uint(map_flags, flags);                           \
	} name SEC(".maps")

/* Sessions, and the index of those that are in no bucket of theirs, by the inside tuple, by the outside one, or filter owners. */
TABLE(session_table, BPF_MAP_TYPE_ARRAY, __u32, struct session, 1, BPF_F_MMAPABLE);
TABLE(session_index, BPF_MAP_TYPE_ARRAY, __u32, struct bucket, 1, BPF_F_MMAPABLE);

/* The session records in use, and where the search for a free one stands. */
TABLE(session_bitmap, BPF_MAP_TYPE_ARRAY, __u32, __u64, 1, BPF_F_MMAPABLE);

struct record_search {
	__u32 word;	/* in which one was found last */
	__u32 released; /* counts records that became free */
	__u32 in_vain;	/* released + 1 when the last walk found none */
	__u8 pad[52];
};
TABLE(record_searches, BPF_MAP_TYPE_ARRAY, __u32, struct record_search, 1, BPF_F_MMAPABLE);

/* How many records are in use; a CPU keeps some counts to itself. */
TABLE(record_uses, BPF_MAP_TYPE_ARRAY, __u32, struct record_uses, 1, BPF_F_MMAPABLE);
TABLE(record_uses_here, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct record_uses, 1, 0);

struct stripe {
	__u32 held;
	__u8 pad[60];
};
TABLE(locks, BPF_MAP_TYPE_ARRAY, __u32, struct stripe, LOCKS + CLIENT_LOCKS, BPF_F_MMAPABLE);

/* Outbound addresses, and which of them hosts leave by. */
TABLE(slot_table, BPF_MAP_TYPE_ARRAY, __u32, struct slot, MAX_OUTBOUND, BPF_F_MMAPABLE);
TABLE(share_table, BPF_MAP_TYPE_ARRAY, __u32, struct shares, 1, BPF_F_MMAPABLE);

/* Outbound mappings, the index by internal endpoint, and the ports in use. */
TABLE(mapping_table, BPF_MAP_TYPE_ARRAY, __u32, struct mapping_block, 1, BPF_F_MMAPABLE);
TABLE(mapping_index, BPF_MAP_TYPE_ARRAY, __u32, struct bucket, 1, BPF_F_MMAPABLE);
TABLE(port_bitmaps, BPF_MAP_TYPE_ARRAY, __u32, struct port_bitmap, 1, 0);

/* The circular pool: bindings by slot, their ports by address, protocol and port. */
TABLE(binding_table, BPF_MAP_TYPE_ARRAY, __u32, struct binding, 1, BPF_F_MMAPABLE);
TABLE(bound_port_table, BPF_MAP_TYPE_ARRAY, __u32, struct bound_port, 1, BPF_F_MMAPABLE);
TABLE(bound_port_index, BPF_MAP_TYPE_ARRAY, __u32, struct bucket, 1, BPF_F_MMAPABLE);

/* Reservations, found by binding and asker, or first in, first out in the queue of each binding. */
TABLE(reservation_table, BPF_MAP_TYPE_ARRAY, __u32, struct reservation, 1, BPF_F_MMAPABLE);
TABLE(reservation_index, BPF_MAP_TYPE_ARRAY, __u32, struct bucket, 1, BPF_F_MMAPABLE);
TABLE(reservation_queue, BPF_MAP_TYPE_ARRAY, __u32, __u32, 1, BPF_F_MMAPABLE);

/* A ring for each binding of its tentative sessions, struct tentative. */
TABLE(tentative_table, BPF_MAP_TYPE_ARRAY, __u32, __u64, 1, BPF_F_MMAPABLE);

/* Known clients of bindings: buckets of four, two to choose from. */
TABLE(known_table, BPF_MAP_TYPE_ARRAY, __u32, struct known, 1, BPF_F_MMAPABLE);

/* What hosts inside have open, and remote addresses, tally.h. */
TABLE(subscriber_table, BPF_MAP_TYPE_ARRAY, __u32, struct tally_bucket, 1, BPF_F_MMAPABLE);
TABLE(remote_table, BPF_MAP_TYPE_ARRAY, __u32, struct tally_bucket, 1, BPF_F_MMAPABLE);
/* And what hosts have that dnat or 1:1 leads to, from outside. */
TABLE(led_table, BPF_MAP_TYPE_ARRAY, __u32, struct tally_bucket, LED_BUCKETS, BPF_F_MMAPABLE);

/* Pacts by number, links by number, and the pacts of proxy addresses, tunnel/pact.h. */
TABLE(pact_table, BPF_MAP_TYPE_ARRAY, __u32, struct pact, 1, BPF_F_MMAPABLE);
TABLE(link_table, BPF_MAP_TYPE_ARRAY, __u32, struct link, 1, BPF_F_MMAPABLE);
TABLE(link_counts, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct link_count, 1, 0);
TABLE(proxy_table, BPF_MAP_TYPE_ARRAY, __u32, struct proxy_places, PROXY_ADDRESSES / PROXY_GROUP, BPF_F_MMAPABLE);

/* Where later fragments go, fragment/context.h, and the numbers that packets have behind the gateway, identification.h. */
TABLE(fragment_contexts, BPF_MAP_TYPE_ARRAY, __u32, struct fragment_bucket, FRAGMENT_BUCKETS, BPF_F_MMAPABLE);
TABLE(fragment_octets, BPF_MAP_TYPE_ARRAY, __u32, struct fragment_octets,
      FRAGMENT_BUCKETS *FRAGMENT_WAYS / FRAGMENT_OCTETS, BPF_F_MMAPABLE);
TABLE(fragment_holds, BPF_MAP_TYPE_ARRAY, __u32, struct hold_set, HOLD_SETS, BPF_F_MMAPABLE);
TABLE(held_fragments, BPF_MAP_TYPE_ARRAY, __u32, struct held_fragment, HOLD_SETS *HOLD_WAYS, BPF_F_MMAPABLE);
TABLE(remotes_seen, BPF_MAP_TYPE_ARRAY, __u32, struct seen_bucket, SEEN_BUCKETS, BPF_F_MMAPABLE);
TABLE(carrier_table, BPF_MAP_TYPE_ARRAY, __u32, __u32, CARRIER_MAX, 0); /* the interface, 0 for none */
TABLE(fragments_here, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct fragment_here, 1, 0);
TABLE(identifications, BPF_MAP_TYPE_ARRAY, __u32, __u32, IDENTIFICATIONS, BPF_F_MMAPABLE);

/* The gateway's own that are entered by tail call. */
TABLE(programs, BPF_MAP_TYPE_PROG_ARRAY, __u32, __u32, PROGRAM_MAX, 0);

/* Where things are. */
TABLE(address_table, BPF_MAP_TYPE_HASH, __u32, struct address, 4096, 0);
TABLE(own_addresses, BPF_MAP_TYPE_HASH, struct in6, __u8, 1024, BPF_F_NO_PREALLOC); /* value: side, 0 for neither */
TABLE(interface_table, BPF_MAP_TYPE_HASH, __u32, struct interface, 256, 0);
TABLE(owner_table, BPF_MAP_TYPE_HASH, struct owner, __u32, 1, BPF_F_NO_PREALLOC);
TABLE(service_table, BPF_MAP_TYPE_HASH, struct service, __u32, 1, BPF_F_NO_PREALLOC);
/*
 * Bans by remote address; the value is until when, CLOCK_BOOTTIME, ns. A hash finds those of one address by one wait
 * for memory, a trie by one for each branch: what is in the trie are prefixes, and addresses that the hash has no room for.
 * There is 0, too, for a prefix that the bans of wider ones leave out.
 */
TABLE(banned_addresses, BPF_MAP_TYPE_HASH, __u32, __u64, BANNED_ADDRESSES, BPF_F_NO_PREALLOC);
TABLE(banned_prefixes, BPF_MAP_TYPE_LPM_TRIE, struct banned, __u64, BANS, BPF_F_NO_PREALLOC);
TABLE(banned_prefixes6, BPF_MAP_TYPE_LPM_TRIE, struct banned6, __u64, BANS, BPF_F_NO_PREALLOC);
TABLE(next_hops, BPF_MAP_TYPE_ARRAY, __u32, struct next_hop, NEXT_HOPS, BPF_F_MMAPABLE);
TABLE(route_cache, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct route_cache_entry, ROUTE_CACHE, 0);

/* Policy and what the daemon says. */
TABLE(control_table, BPF_MAP_TYPE_ARRAY, __u32, struct control, 1, BPF_F_MMAPABLE);
TABLE(settings_table, BPF_MAP_TYPE_ARRAY, __u32, struct settings, 2, 0);
TABLE(layout_table, BPF_MAP_TYPE_ARRAY, __u32, struct layout, 1, 0);
TABLE(host_table, BPF_MAP_TYPE_HASH, __u32, struct host_settings, 256, 0);

/* What the daemon hears. */
TABLE(reason_counters, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, __u64, REASON_MAX, 0);

enum statistic {
	STATISTIC_SESSIONS_OPENED,
	STATISTIC_SESSIONS_FREED,
	STATISTIC_MAPPINGS_OPENED,
	STATISTIC_MAPPINGS_FREED,
	STATISTIC_CLAIMS,
	STATISTIC_EVENTS_LOST,
	STATISTIC_ICMP_ERRORS_SENT,
	STATISTIC_REFUSALS_SENT,    /* RST and port unreachable, refuse.h */
	STATISTIC_OVERFLOWED,	    /* SYNs to the pool that were answered by cookies */
	STATISTIC_KNOWN_FULL,	    /* clients that were not made known, as there was no place */
	STATISTIC_SUBSCRIBERS_FULL, /* sessions of hosts that were not counted, as there was no place */
	STATISTIC_REMOTES_FULL,
	STATISTIC_FLOWS_UNTOLD, /* flow_event for which its ring had no room */
	STATISTIC_MAX,
};
TABLE(statistics, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, __u64, STATISTIC_MAX, 0);

/* What each CPU may say of itself. */
struct budget {
	__u32 tick;
	__u32 drops;	   /* samples sent in this tick */
	__u32 icmp;	   /* ICMP errors sent in this tick */
	__u32 claims_told; /* in which 4 ms its reader was last woken for a claim, reservation.h */
	__u32 cookies;	   /* SYNs answered by cookie in this tick */
	__u64 missed;	   /* drops that somebody watched for, and was not told of */
	__u32 flows_told;  /* in which 17 ms its reader was last woken for a flow_event, trace/tell.h */
	__u32 pad;
	__u64 flows_placed; /* flow_event that it wrote into its row, ever */
};
TABLE(budgets, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct budget, 1, 0);

/*
 * How much was answered lately, struct spending: refusals (refuse.h), first in all, then by a hash of who was refused; behind
 * them what the honeypot did (honeypot_route.h), and until when questions to the name server are spent (question/limit.h).
 */
enum answer_budget {
	HONEYPOT_BUDGET_ANSWERS = 1 + REFUSAL_SOURCES,
	HONEYPOT_BUDGET_ACKS,
	QUESTION_BUDGETS,
	ANSWER_BUDGETS = QUESTION_BUDGETS + 2 * (1 + QUESTION_NETWORKS),
};
TABLE(answer_budgets, BPF_MAP_TYPE_ARRAY, __u32, __u64, ANSWER_BUDGETS, BPF_F_MMAPABLE);

/* Questions to the name server: what the daemon says, question.h. */
TABLE(question_states, BPF_MAP_TYPE_ARRAY, __u32, struct question_state, 1, 0);
TABLE(lent_names, BPF_MAP_TYPE_HASH, __u64, __u8, 1, BPF_F_NO_PREALLOC); /* by the name's hash: enum lent_type */
TABLE(awaited_askers, BPF_MAP_TYPE_ARRAY, __u32, __u64, QUESTION_AWAITED, BPF_F_MMAPABLE);
TABLE(questions, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct question, 1, 0);

/* Connections to web addresses: that the daemon lives, and what it says of them. */
TABLE(web_states, BPF_MAP_TYPE_ARRAY, __u32, struct web_state, 1, 0);
TABLE(web_answers, BPF_MAP_TYPE_HASH, struct web_key, struct web_answer, WEB_ANSWERS, BPF_F_NO_PREALLOC);

/* How many frames the daemon heard of lately: struct spending, by a hash of whose they are, and behind these of which /24. */
TABLE(web_budgets, BPF_MAP_TYPE_ARRAY, __u32, __u64, 2 * WEB_SOURCES, BPF_F_MMAPABLE);

/* How much was done lately for datagrams to them (handshake/datagram.h): until when it is spent. */
enum datagram_budget {
	DATAGRAM_BUDGET_INITIALS,
	DATAGRAM_BUDGET_REBINDINGS,
	DATAGRAM_BUDGET_MAX,
};
TABLE(datagram_budgets, BPF_MAP_TYPE_ARRAY, __u32, __u64, DATAGRAM_BUDGET_MAX, 0);

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, WEB_RING);
} web_events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 17);
} claim_events SEC(".maps");

/* Samples of what is dropped, and what becomes of flows: struct drop_event or flow_event, by enum told. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, FLOW_RING);
} flow_events SEC(".maps");

/* What each CPU tells of flows as long as there is room, else flow_events has it: trace/tell.h. */
TABLE(flow_rows, BPF_MAP_TYPE_ARRAY, __u32, struct flow_row, 1, BPF_F_MMAPABLE);

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 12);
} honeypot_events SEC(".maps");

static __always_inline void count_statistic(__u32 which)
{
	__u64 *count = bpf_map_lookup_elem(&statistics, &which);

	if (count)
		*count += 1;
}

static __always_inline struct control *control_get(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&control_table, &zero);
}

static __always_inline struct settings *settings_get(__u32 generation)
{
	__u32 slot = generation & 1;

	return bpf_map_lookup_elem(&settings_table, &slot);
}
