// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The measuring lab's histogram of how long tasks stay on a CPU, as bcc's cpudist has it. A task is on one CPU from
 * the switch to it until the switch from it, so what each CPU remembers is when its last switch was.
 */
#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

enum oncpu_limit {
	ONCPU_BUCKET_MAX = 24,
};

/* Switches by the time on the CPU before: bucket n has 2^n to 2^(n+1) - 1 µs, the first 0 too, the last all above. */
struct oncpu_cpu {
	__u64 since; /* ns; 0: no switch was seen yet */
	__u64 voluntary[ONCPU_BUCKET_MAX];
	__u64 involuntary[ONCPU_BUCKET_MAX];
	__u64 idle[ONCPU_BUCKET_MAX]; /* of the idle task, which has the CPU while no other wants it */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, struct oncpu_cpu);
	__uint(max_entries, 1);
} oncpu_cpus SEC(".maps");

#define TASK_RUNNING 0

struct task_struct {
	int pid;
} __attribute__((preserve_access_index));

static __always_inline __u32 bucket_of(__u64 microseconds)
{
	__u32 power = 63 - __builtin_clzll(microseconds | 1);

	return power < ONCPU_BUCKET_MAX ? power : ONCPU_BUCKET_MAX - 1;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(oncpu_switch, bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int prev_state)
{
	__u64 now = bpf_ktime_get_ns(), since;
	struct oncpu_cpu *cpu;
	__u32 zero = 0, bucket;

	cpu = bpf_map_lookup_elem(&oncpu_cpus, &zero);
	if (!cpu)
		return 0;
	since = cpu->since;
	cpu->since = now;
	if (!since)
		return 0;
	bucket = bucket_of((now - since) / 1000);
	if (!prev->pid)
		cpu->idle[bucket]++;
	else if (preempt || prev_state == TASK_RUNNING) /* as the kernel counts nonvoluntary_ctxt_switches */
		cpu->involuntary[bucket]++;
	else
		cpu->voluntary[bucket]++;
	return 0;
}

char _license[] SEC("license") = "Dual BSD/GPL";
