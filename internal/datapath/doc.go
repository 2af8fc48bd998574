// Package datapath owns the data plane: it loads and attaches the programs of
// bpf/gateway.bpf.c, pins them so that they outlive the daemon, and gives typed
// views of every table and the event streams. It decides nothing; package
// gateway tells it what to do.
//
// A Datapath may be used by several goroutines, but Bind, Rebind and Unbind, and Offer,
// Extend and Withdraw, only by one at a time.
package datapath

//go:generate go tool -modfile=../../tools/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -go-package datapath -output-stem bpf -type layout -type settings -type control -type session -type mapping_block -type endpoint -type holds -type binding -type bound_port -type binding_request -type known -type known_life -type limits -type tally -type tally_bucket -type claims_state -type reservation -type claims -type reservation_request -type next_hop -type interface -type service -type address -type claim_event -type drop_event -type trap_event -type banned6 -type sweep_request -type host_settings -type in6 -type reason -type phase -type origin -type tcp_state -type side -type statistic -type address_kind -type slot -type shares -type sweep_table -type home -type program -type mss -type redirect -type question_state -type lent_type -type banned -type banning -type nf_count -type nf_counters -type count_request -type nf_packet -type capture_record bpf ../../bpf/gateway.bpf.c -- -O2 -g -mcpu=v3 -Wall -Werror -I/usr/include/x86_64-linux-gnu
//go:generate go tool -modfile=../../tools/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -go-package datapath -output-stem tcx -no-global-types tcx ../../bpf/gateway.bpf.c -- -O2 -g -mcpu=v3 -Wall -Werror -DCTX_SKB -I/usr/include/x86_64-linux-gnu
//go:generate go tool -modfile=../../tools/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -go-package datapath -output-stem explain -no-global-types -type trace -type trace_step -type trace_kind -type trace_limit -type nf_stage -type nf_verdict explain ../../bpf/explain.bpf.c -- -O2 -g -mcpu=v3 -Wall -Werror -I/usr/include/x86_64-linux-gnu
//go:generate go tool -modfile=../../tools/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -go-package datapath -output-stem explain_tcx -no-global-types explainTCX ../../bpf/explain.bpf.c -- -O2 -g -mcpu=v3 -Wall -Werror -DCTX_SKB -I/usr/include/x86_64-linux-gnu
