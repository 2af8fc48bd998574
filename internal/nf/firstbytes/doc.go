// Package firstbytes is the function "first-bytes": it drops flows by the first bytes that their opener sends.
//
// It has no state in Go and may be used concurrently.
package firstbytes

//go:generate go tool -modfile=../../../tools/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -go-package firstbytes -output-stem firstbytes -type first_bytes_node -type first_bytes_limit -type first_bytes_end firstBytes first_bytes.bpf.c -- -O2 -g -mcpu=v3 -Wall -Werror -I../../../bpf/include -I/usr/include/x86_64-linux-gnu
//go:generate go tool -modfile=../../../tools/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -go-package firstbytes -output-stem firstbytes_tcx -no-global-types firstBytesTCX first_bytes.bpf.c -- -O2 -g -mcpu=v3 -Wall -Werror -DCTX_SKB -I../../../bpf/include -I/usr/include/x86_64-linux-gnu
