// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a chain's program takes up to copy a packet to who captures: entered when the function that nf_packet names has
 * said NF_TO_USER. What it returns is not looked at.
 */
#include <stdbool.h>

#include "trace/capture.h"
#include "include/ctx.h"

static __always_inline bool copy(ctx_t *ctx, const struct bpf_dynptr *place, __u32 at, __u32 size)
{
	void *part = bpf_dynptr_data(place, sizeof(struct capture_record) + at, CAPTURE_PART);

	return part && !ctx_load(ctx, at, part, size);
}

static __always_inline bool fill(ctx_t *ctx, const struct nf_packet *packet, __u32 length, __u32 captured,
				 const struct bpf_dynptr *place)
{
	struct capture_record *record = bpf_dynptr_data(place, 0, sizeof(*record));
	__u32 at, rest;

	if (!record)
		return false;
	record->at = bpf_ktime_get_ns();
	record->function = packet->function;
	record->length = length;
	record->captured = captured;
	record->source = packet->source;
	record->destination = packet->destination;
	record->source_port = packet->source_port;
	record->destination_port = packet->destination_port;
	record->protocol = packet->protocol;
	record->direction = packet->direction;
	record->answers = packet->answers;
	record->ifindex = ctx_ifindex(ctx);
	for (at = 0; at + CAPTURE_PART <= captured; at += CAPTURE_PART)
		if (!copy(ctx, place, at, CAPTURE_PART))
			return false;
	rest = captured % CAPTURE_PART;
	return !rest || copy(ctx, place, at, rest);
}

SEC(CTX_SECTION)
int capture(ctx_t *ctx)
{
	struct nf_packet *packet = nf_packet();
	__u32 length = ctx_length(ctx), captured = length, function, zero = 0, *snap;
	struct bpf_dynptr place;
	struct nf_count *count;
	void *ring;

	if (!packet || packet->dry)
		return 0;
	function = packet->function;
	snap = bpf_map_lookup_elem(&capture_snaps, &function);
	ring = snap && *snap ? bpf_map_lookup_elem(&capture_rings, &zero) : 0;
	if (!ring)
		return 0;
	if (captured > *snap)
		captured = *snap;
	if (captured > CAPTURE_MOST)
		captured = CAPTURE_MOST;
	if (!bpf_ringbuf_reserve_dynptr(
		    ring, sizeof(struct capture_record) + ((captured + CAPTURE_PART - 1) & -CAPTURE_PART), 0, &place) &&
	    fill(ctx, packet, length, captured, &place)) {
		bpf_ringbuf_submit_dynptr(&place, 0);
		return 0;
	}
	bpf_ringbuf_discard_dynptr(&place, 0);
	count = nf_count(function);
	if (count)
		count->lost++;
	return 0;
}

char _license[] SEC("license") = "Dual BSD/GPL";
