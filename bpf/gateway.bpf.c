// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Entry points of the data plane: one XDP program per side, and what the daemon runs. All the work is in
 * include/, one concern a header.
 */
#include "include/bind.h"
#include "include/export.h"
#include "include/offer.h"
#include "include/private_side.h"
#include "include/public_side.h"
#include "include/sweep.h"

SEC(CTX_SECTION)
int gateway_private(ctx_t *ctx)
{
	return private_side(ctx);
}

SEC(CTX_SECTION)
int gateway_public(ctx_t *ctx)
{
	return public_side(ctx, false);
}

/* Entered from gateway_private by tail call. */
SEC(CTX_SECTION)
int gateway_hairpin(ctx_t *ctx)
{
	return public_side(ctx, true);
}

/* Entered from gateway_public by tail call. */
SEC(CTX_SECTION)
int gateway_question(ctx_t *ctx)
{
	return question_side(ctx);
}

/* XDP, so that it runs with softirqs off like the packets whose stripes it takes. */
SEC("xdp")
int sweep(struct xdp_md *ctx)
{
	return sweep_run(ctx);
}

SEC("syscall")
int bind_service(struct binding_request *request)
{
	request->error = bind_run(request);
	return 0;
}

SEC("syscall")
int unbind_service(struct binding_request *request)
{
	request->error = unbind_run(request);
	return 0;
}

SEC("syscall")
int bind_port(struct binding_request *request)
{
	request->error = bind_port_run(request);
	return 0;
}

SEC("syscall")
int unbind_port(struct binding_request *request)
{
	request->error = unbind_port_run(request);
	return 0;
}

SEC("syscall")
int offer_reservation(struct reservation_request *request)
{
	request->error = offer_run(request);
	return 0;
}

SEC("syscall")
int extend_reservation(struct reservation_request *request)
{
	request->error = extend_run(request);
	return 0;
}

SEC("syscall")
int withdraw_reservation(struct reservation_request *request)
{
	request->error = withdraw_run(request);
	return 0;
}

/* Begins the counts of a function anew, and leaves its neighbours alone. */
SEC("syscall")
int clear_count(struct count_request *request)
{
	__u32 function = request->function;

	bpf_loop(request->cpus, count_clear, &function, 0);
	return 0;
}

char _license[] SEC("license") = "Dual BSD/GPL";
