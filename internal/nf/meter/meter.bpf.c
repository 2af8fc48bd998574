// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The types of meter.h, for Go: no program.
 */

//go:build ignore

#include <stdbool.h>

#include "meter.h"

/* Types that Go needs and no map names: a mention keeps them in the object's type information. */
struct exported {
	enum meter_limit limit;
	enum meter_per per;
	enum meter_unit unit;
};
const struct exported *exported __attribute__((unused));
