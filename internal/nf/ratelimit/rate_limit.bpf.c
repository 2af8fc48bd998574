// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The function "rate-limit": lets through as many new sessions, packets or bytes as a token bucket has room for. Packets
 * and bytes of both directions count.
 */

//go:build ignore

#include <stdbool.h>

#include "meter.h"

SEC("xdp")
int nf_rate_limit(struct xdp_md *ctx)
{
	const struct meter_settings *settings;
	struct nf_packet *packet = nf_packet();
	__u64 now = bpf_ktime_get_ns(), units;
	struct meter *meter;
	__u32 zero = 0;

	settings = bpf_map_lookup_elem(&metering, &zero);
	if (!packet || !settings)
		return NF_FAIL;
	units = meter_units(settings, packet);
	if (!units)
		return NF_CONTINUE;
	meter = meter_find(settings, packet, now);
	return meter ? meter_bucket(settings, meter, packet, units, now) : NF_FAIL;
}

char _license[] SEC("license") = "Dual BSD/GPL";
