// Package chain compiles chains of network functions into programs of the kernel:
// the functions of a chain inlined into one program, and a classifier that finds the
// chain of a packet in a time that does not grow with the number of rules.
package chain

//go:generate go tool -modfile=../../tools/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -go-package chain -output-stem classifier -type rules_range -type rules_shape -type rules_key -type rules_found -type rules_size -type rules_limit -type nf_verdict -type nf_direction -type nf_packet -type nf_count -type program classifier ../../bpf/classifier.bpf.c -- -O2 -g -mcpu=v3 -Wall -Werror -I/usr/include/x86_64-linux-gnu
//go:generate go tool -modfile=../../tools/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -go-package chain -output-stem filter filter ../../bpf/nf/filter.bpf.c -- -O2 -g -mcpu=v3 -Wall -Werror -I/usr/include/x86_64-linux-gnu
//go:generate go tool -modfile=../../tools/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -go-package chain -output-stem dosdenial dosDenial ../../bpf/nf/dos_denial.bpf.c -- -O2 -g -mcpu=v3 -Wall -Werror -I/usr/include/x86_64-linux-gnu
//go:generate go tool -modfile=../../tools/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -go-package chain -output-stem ratelimit -type meter_settings -type meter_bucket -type meter_limit -type meter_per -type meter_unit rateLimit ../../bpf/nf/rate_limit.bpf.c -- -O2 -g -mcpu=v3 -Wall -Werror -I/usr/include/x86_64-linux-gnu
//go:generate go tool -modfile=../../tools/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -go-package chain -output-stem dnat -type dnat_target dnat ../../bpf/nf/dnat.bpf.c -- -O2 -g -mcpu=v3 -Wall -Werror -I/usr/include/x86_64-linux-gnu
//go:generate go tool -modfile=../../tools/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -go-package chain -output-stem mirror mirror ../../bpf/nf/mirror.bpf.c -- -O2 -g -mcpu=v3 -Wall -Werror -I/usr/include/x86_64-linux-gnu
//go:generate go tool -modfile=../../tools/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -go-package chain -output-stem capture capture ../../bpf/capture.bpf.c -- -O2 -g -mcpu=v3 -Wall -Werror -I/usr/include/x86_64-linux-gnu
