// Package ask is the function "ask": a program of the user's says what becomes of a flow, by its first packet or the first
// bytes of its stream.
//
// The function holds what it is to ask about: the frame goes to the daemon by a ring buffer, and is dropped. The daemon
// (internal/ask) has the program asked, writes down what it says, and sends the frame again. A Line is what both share. It
// may be used concurrently.
package ask

//go:generate go tool -modfile=../../../tools/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -go-package ask -output-stem ask -type ask_key -type ask_flow -type ask_frame -type ask_limit -type ask_says -type ask_state ask ask.bpf.c -- -O2 -g -mcpu=v3 -Wall -Werror -I../../../bpf/include -I/usr/include/x86_64-linux-gnu
//go:generate go tool -modfile=../../../tools/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -go-package ask -output-stem ask_tcx -no-global-types askTCX ask.bpf.c -- -O2 -g -mcpu=v3 -Wall -Werror -DCTX_SKB -I../../../bpf/include -I/usr/include/x86_64-linux-gnu
