// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The function "mirror": every packet goes to who captures, and on to the next function.
 */

//go:build ignore

#include "nf.h"

SEC("xdp")
int nf_mirror(struct xdp_md *ctx)
{
	return NF_TO_USER;
}

char _license[] SEC("license") = "Dual BSD/GPL";
