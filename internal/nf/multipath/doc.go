// Package multipath is the function "multipath": it says to which of several private endpoints flows from outside go.
//
// Paths are kept by the daemon and may be used concurrently; all else is immutable.
package multipath

//go:generate go tool -modfile=../../../tools/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -go-package multipath -output-stem multipath -type multipath_target -type multipath_table -type multipath_limit multipath multipath.bpf.c -- -O2 -g -mcpu=v3 -Wall -Werror -I../../../bpf/include -I/usr/include/x86_64-linux-gnu
