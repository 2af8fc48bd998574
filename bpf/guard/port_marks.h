/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the protection knows of the ports that flows go to: a byte for each TCP port, and then for each UDP port.
 */
#pragma once

#include <linux/in.h>
#include <linux/in6.h>
#include <bpf/bpf_endian.h>

#include "../include/nf.h"
#include "port_mark.h"

#define PORT_CELL  64 /* marks in a value: a cache line */
#define PORT_CELLS (2 * 65536 / PORT_CELL)

struct port_cell {
	__u8 mark[PORT_CELL];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct port_cell);
	__uint(max_entries, PORT_CELLS);
	__uint(map_flags, BPF_F_RDONLY_PROG | BPF_F_MMAPABLE); /* values begin at a page */
} port_marks SEC(".maps");

/* port is in network byte order. ICMP has none; that of a later fragment nobody knows, for which port 0 of TCP stands. */
static __always_inline __u8 port_marks_of(__u8 protocol, __u16 port)
{
	__u32 number = bpf_ntohs(port), key;
	const struct port_cell *cell;

	if (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP && protocol != IPPROTO_FRAGMENT)
		return 0;
	key = number / PORT_CELL + (protocol == IPPROTO_UDP ? PORT_CELLS / 2 : 0);
	cell = bpf_map_lookup_elem(&port_marks, &key);
	return cell ? cell->mark[number % PORT_CELL] : 0;
}
