/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Time. Stamps are ticks of 2^28 ns (0.27 s) on CLOCK_MONOTONIC in 32 bits, which wrap after 36 years: compare
 * differences. Reservations need finer time and read the precise clock.
 */
#pragma once

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define TICK_SHIFT 28

static __always_inline __u32 clock_tick(void)
{
	return bpf_ktime_get_coarse_ns() >> TICK_SHIFT;
}
