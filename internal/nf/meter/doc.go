// Package meter counts what comes, of each flow, source, host or service (bpf/include/meter.h), for functions that let through
// only so much.
//
// A meter has no state in Go: counts are in a table that nf.States keep.
package meter

//go:generate go tool -modfile=../../../tools/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -go-package meter -output-stem meter -type meter_settings -type meter_bucket -type meter_limit -type meter_per -type meter_unit C meter.bpf.c -- -O2 -g -mcpu=v3 -Wall -Werror -I../../../bpf/include -I/usr/include/x86_64-linux-gnu
