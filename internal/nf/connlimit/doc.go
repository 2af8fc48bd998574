// Package connlimit is the function "connlimit": each source may have so many connections open.
//
// What is open stands in a table that nf.States keep; in Go there is no state.
package connlimit

//go:generate go tool -modfile=../../../tools/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -go-package connlimit -output-stem connlimit -type connlimit_settings -type connlimit_bucket -type connlimit_limit -type nf_hook connlimit connlimit.bpf.c -- -O2 -g -mcpu=v3 -Wall -Werror -I../../../bpf/include -I/usr/include/x86_64-linux-gnu
