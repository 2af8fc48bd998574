// Package oncpu records how long tasks stay on a CPU before another one has it: the
// histogram of bcc's cpudist. A BPF program sees every switch of the scheduler
// (bpf/oncpu.bpf.c) of the whole machine, and takes its time of it: what is to be fast
// is measured without.
package oncpu

//go:generate go tool -modfile=../../../tools/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -go-package oncpu -output-stem bpf -type oncpu_cpu bpf ../../../bpf/oncpu.bpf.c -- -O2 -g -mcpu=v3 -Wall -Werror -I/usr/include/x86_64-linux-gnu
