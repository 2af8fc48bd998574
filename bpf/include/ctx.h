/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The frame as its hook gives it. The data plane is compiled twice from one source: for XDP, and with CTX_SKB for socket
 * buffers at tcx, where a frame may be an aggregate of many (GSO, GRO) and only its first octets need to lie in one
 * piece. All that differs is in ctx_xdp.h and ctx_skb.h, and in sum.h; each of the two defines
 *
 *   ctx_t, CTX_SECTION          what programs take, and where they hang
 *   CTX_DROP, CTX_PASS          their verdicts beside bpf_redirect()
 *   CTX_REDIRECTS               enum redirect that an interface needs to be redirected to
 *   ctx_load, ctx_store         copy octets out and in; 0, or a negative error when the frame is shorter
 *   ctx_length                  octets of the whole frame
 *   ctx_holds                   whether it has so many
 *   ctx_pull                    makes its first octets, so many or all, one piece from data to data_end
 *   ctx_ifindex                 of the interface that it came in by
 *   ctx_redirect                sends it out by that, or another
 *   ctx_defers_next             whether who sends the frame is told what is next of a connection, once that is done
 *   ctx_is_tagged               whether it has a VLAN tag that is not in it any more
 *   ctx_segments                how many packets it is on the wire
 *   ctx_segment_size            octets of payload in each of them, 0 where it is one
 *   ctx_resize                  puts octets before it and cuts it to a length; all is to be written anew
 *
 * Pointers into the frame are void behind ctx_store, ctx_pull and ctx_resize.
 */
#pragma once

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>

/* What a program that was entered by tail call returns, whatever the hook. */
enum said {
	SAID_NOTHING, /* it is not there, or cannot say */
	SAID_DROP,
	SAID_PASS,
};

/* What an interface takes. */
enum redirect {
	REDIRECT_NOTHING,
	REDIRECT_BUFFERS, /* socket buffers, which tcx redirects */
	REDIRECT_FRAMES,  /* and frames of XDP */
};

#ifdef CTX_SKB
#include "ctx_skb.h"
#else
#include "ctx_xdp.h"
#endif
