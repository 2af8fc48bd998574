/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs that the daemon runs. They are of no hook: one form of the data plane has them.
 */
#pragma once

#include "pool/bind.h"
#include "pool/reserve.h"
#include "conntrack/sweep.h"
#include "tunnel/task.h"

/* XDP, so that it runs with softirqs off like the packets whose stripes it takes: since Linux 6.3. */
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
int reserve_binding(struct reservation_request *request)
{
	request->error = reserve_run(request);
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

static long count_clear(__u32 cpu, const __u32 *function)
{
	__u32 zero = 0;
	struct nf_counters *all = bpf_map_lookup_percpu_elem(&nf_counts, &zero, cpu);

	if (!all)
		return 1;
	__builtin_memset(&all->of[*function & (NF_COUNTS - 1)], 0, sizeof(struct nf_count));
	return 0;
}

/* Lets pass what is next of a connection, when the frame before it has been sent. */
SEC("syscall")
int let_next(struct replay *replay)
{
	struct web_key key = replay->key;
	struct web_answer *answer = bpf_map_lookup_elem(&web_answers, &key);

	if (answer && answer->begun == replay->begun && (__s32)(replay->next - answer->next) > 0)
		answer->next = replay->next;
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
