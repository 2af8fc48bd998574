// Package dnat is the function "dnat": it says to which private endpoint flows from outside go.
//
// It has no state in Go and may be used concurrently.
package dnat

//go:generate go tool -modfile=../../../tools/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -go-package dnat -output-stem dnat -type dnat_target dnat dnat.bpf.c -- -O2 -g -mcpu=v3 -Wall -Werror -I../../../bpf/include -I/usr/include/x86_64-linux-gnu
