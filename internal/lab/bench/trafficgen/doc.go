// Package trafficgen sends test traffic through a device and sees what arrives:
// the tester of RFC 9693 without DPDK. The generator and the sinks are BPF
// programs (bpf/trafficgen.bpf.c). The generator runs over live frames, which
// really leave by an interface; a sink at each interface notes loss, duplicates,
// order, delay, and what the device translated, and keeps the responder's state
// table.
//
// A Generator owns its maps and what it attached. It runs one Plan at a time.
package trafficgen

//go:generate go tool -modfile=../../../../tools/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -go-package trafficgen -output-stem bpf -type trafficgen_range -type trafficgen_plan -type trafficgen_progress -type trafficgen_counters -type trafficgen_side -type trafficgen_direction -type trafficgen_order -type trafficgen_limit -type tcp_limit -type null_port bpf ../../../../bpf/trafficgen.bpf.c -- -O2 -g -mcpu=v3 -Wall -Werror -I/usr/include/x86_64-linux-gnu
