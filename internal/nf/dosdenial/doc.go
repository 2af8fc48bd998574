// Package dosdenial is the function "dos-denial": it drops what comes too fast.
//
// It has no state in Go and may be used concurrently.
package dosdenial

//go:generate go tool -modfile=../../../tools/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -go-package dosdenial -output-stem dosdenial dosDenial dos_denial.bpf.c -- -O2 -g -mcpu=v3 -Wall -Werror -I../../../bpf/include -I/usr/include/x86_64-linux-gnu
