// Package mirror is the function "mirror": every packet goes to who captures, and on to the next function.
//
// It has no state in Go and may be used concurrently.
package mirror

//go:generate go tool -modfile=../../../tools/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -go-package mirror -output-stem mirror mirror mirror.bpf.c -- -O2 -g -mcpu=v3 -Wall -Werror -I../../../bpf/include -I/usr/include/x86_64-linux-gnu
