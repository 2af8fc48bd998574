/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Destinations that are reached without NAT (RFC 6888 REQ-6).
 */
#pragma once

#include "../include/maps.h"

/* Whether the destination is reached without NAT. */
__noinline bool is_excepted(const struct settings *settings, __u32 destination)
{
	if (!settings)
		return false;
	for (__u32 i = 0; i < EXCEPTS && i < settings->excepts; i++)
		if ((destination & settings->except[i].mask) == settings->except[i].address)
			return true;
	return false;
}
