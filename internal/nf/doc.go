// Package nf compiles chains of network functions into programs of the kernel: the
// functions of a chain inlined into one program, and a classifier that finds the chain of
// a packet in a time that does not grow with the number of rules.
//
// It knows no function: each has a folder of its own below, with its configuration, code,
// program and tests, and a line in the list of internal/nf/functions.
package nf

//go:generate go tool -modfile=../../tools/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -go-package nf -output-stem classifier -type policy_flag -type nf_hook -type nf_honeypot -type nf_changed -type rules_node -type rules_dimension -type rules_head -type rules_dimension_node -type rules_mask -type rules_mask_node -type rules_range_node -type rules_alternating_node -type rules_inner_node -type rules_key -type rules_found -type rules_rule -type rules_rule_node -type rules_limit -type nf_verdict -type nf_direction -type nf_packet -type nf_count -type nf_counters -type entry -type trace -type trace_step -type trace_kind -type trace_limit classifier ../../bpf/classifier.bpf.c -- -O2 -g -mcpu=v3 -Wall -Werror -I/usr/include/x86_64-linux-gnu
//go:generate go tool -modfile=../../tools/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -go-package nf -output-stem matching matching matching.bpf.c -- -O2 -g -mcpu=v3 -Wall -Werror -I../../bpf/include -I/usr/include/x86_64-linux-gnu
//go:generate go tool -modfile=../../tools/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -go-package nf -output-stem capture capture ../../bpf/capture.bpf.c -- -O2 -g -mcpu=v3 -Wall -Werror -I/usr/include/x86_64-linux-gnu
//go:generate go tool -modfile=../../tools/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -go-package nf -output-stem protection -type remote_mark -type port_mark protection ../../bpf/nf/protection.bpf.c -- -O2 -g -mcpu=v3 -Wall -Werror -I/usr/include/x86_64-linux-gnu
//go:generate go tool -modfile=../../tools/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -go-package nf -output-stem protection6 -type remote_mark -type remote6_limit -type remote6_prefix -type remote6_range protection6 ../../bpf/protection6.bpf.c -- -O2 -g -mcpu=v3 -Wall -Werror -I/usr/include/x86_64-linux-gnu
//go:generate go tool -modfile=../../tools/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -go-package nf -output-stem capture_tcx -no-global-types captureTCX ../../bpf/capture.bpf.c -- -O2 -g -mcpu=v3 -Wall -Werror -DCTX_SKB -I/usr/include/x86_64-linux-gnu
//go:generate go tool -modfile=../../tools/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -go-package nf -output-stem protection6_tcx -no-global-types protection6TCX ../../bpf/protection6.bpf.c -- -O2 -g -mcpu=v3 -Wall -Werror -DCTX_SKB -I/usr/include/x86_64-linux-gnu
//go:generate go tool -modfile=../../tools/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -go-package nf -output-stem left left left.bpf.c -- -O2 -g -mcpu=v3 -Wall -Werror -I../../bpf/include -I/usr/include/x86_64-linux-gnu
//go:generate go tool -modfile=../../tools/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -go-package nf -output-stem left_tcx -no-global-types leftTCX left.bpf.c -- -O2 -g -mcpu=v3 -Wall -Werror -DCTX_SKB -I../../bpf/include -I/usr/include/x86_64-linux-gnu
//go:generate go run -C ../../tools ./constants -package nf -o ../internal/nf/constants.go -values CHAINS=programNumbers ../bpf/include/tail.h
