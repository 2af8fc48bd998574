// Package ratelimit is the function "rate-limit": it lets through so much.
//
// It has no state in Go and may be used concurrently.
package ratelimit

//go:generate go tool -modfile=../../../tools/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -go-package ratelimit -output-stem ratelimit rateLimit rate_limit.bpf.c -- -O2 -g -mcpu=v3 -Wall -Werror -I../../../bpf/include -I/usr/include/x86_64-linux-gnu
