/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the protection knows of a port.
 */
#pragma once

enum port_mark {
	PORT_IGNORED = 1,     /* honeypot and geofence are not asked */
	PORT_HONEYPOT = 2,    /* the honeypot's */
	PORT_UNMONITORED = 4, /* the geofence is not asked */
};
