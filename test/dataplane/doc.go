// Package dataplane is what tests do with a data plane that no daemon does: it puts frames
// into its programs, counts and checks what stands in its tables (Audit), and makes that
// look older (Age). It keeps no state.
package dataplane

//go:generate go tool -modfile=../../tools/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -go-package dataplane -output-stem types -no-global-types -type layout -type port_bitmap -type record_uses -type banned -type banned6 -type session -type bucket -type mapping_block -type endpoint -type binding -type bound_port -type known -type known_life -type tally_bucket -type shares -type phase -type origin -type tcp_state -type record_bucket types types.bpf.c -- -O2 -g -mcpu=v3 -Wall -Werror -I/usr/include/x86_64-linux-gnu
//go:generate go run -C ../../tools ./constants -package dataplane -o ../test/dataplane/constants.go -values PROTOCOLS=protocols,PORTS=ports,PORT_CLASS=portClass,MAPPING_BLOCK=mappingBlock,MAPPING_INBOUND=mappingInbound,KNOWN_TICKS=knownTicks,TICK_SHIFT=tickShift,SHARE_BITS=shareBits,SESSION_HAIRPIN=sessionHairpin,SESSION_FILTER_OWNER=sessionFilterOwner,SESSION_TENTATIVE=sessionTentative,SESSION_SETTLED=sessionSettled,SESSION_KNOWN=sessionKnown,SESSION_COUNTED=sessionCounted ../bpf/include/types.h ../bpf/conntrack/types.h ../bpf/nat/slot_types.h ../bpf/nat/port.h ../bpf/pool/known.h ../bpf/include/clock.h
