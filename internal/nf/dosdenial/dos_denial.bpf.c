// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The function "dos-denial": drops what comes too fast. With windows as Hanna has them (figure 6.7): what brought more
 * than the threshold in one window is dropped for all of the next; a window begins with the first packet after the
 * end of the one before, and dropped packets count. Or with a token bucket, of all packets or of TCP's SYNs.
 * Answers are not counted.
 */

//go:build ignore

#include <stdbool.h>

#include "meter.h"

static __always_inline enum nf_verdict meter_window(const struct meter_settings *settings, struct meter *meter,
						    const struct nf_packet *packet, __u64 units, __u64 now)
{
	__u64 began = *(volatile __u64 *)&meter->at;

	/* Signed: another CPU may have begun it since the clock was read here. */
	if ((__s64)(now - began) >= (__s64)settings->window) {
		if (packet->dry) /* the meter may be another's that is idle */
			return meter->who == meter_who(settings, packet) ? meter->next : NF_CONTINUE;
		/* One CPU begins the next window. */
		if (__sync_val_compare_and_swap(&meter->at, began, now) == began) {
			meter->verdict = meter->next;
			*(volatile __u64 *)&meter->count = 0;
		}
		return meter->verdict;
	}
	if (!packet->dry) {
		__u64 count = __sync_fetch_and_add(&meter->count, units) + units;

		meter->next = count > settings->most ? NF_DROP : NF_CONTINUE;
	}
	return meter->verdict;
}

SEC("xdp")
int nf_dos_denial(struct xdp_md *ctx)
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
	if (packet->answers || !units)
		return NF_CONTINUE;
	meter = meter_find(settings, packet, now);
	if (!meter)
		return NF_FAIL;
	if (settings->window)
		return meter_window(settings, meter, packet, units, now);
	return meter_bucket(settings, meter, packet, units, now);
}

char _license[] SEC("license") = "Dual BSD/GPL";
