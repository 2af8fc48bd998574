package nf

import (
	"encoding/binary"
	"os"
	"testing"

	"github.com/cilium/ebpf"
)

//go:generate go tool -modfile=../../tools/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -go-package nf -output-stem walk -output-suffix _test -type walk_flow -type walk_state walk ../../bpf/rules_walk.bpf.c -- -O2 -g -mcpu=v3 -Wall -Werror -I/usr/include/x86_64-linux-gnu

// walk are rules in the kernel, and a program that asks them about flows, one after
// the other (bpf/rules_walk.bpf.c).
type walk struct {
	tb      testing.TB
	objects walkObjects
	program *ebpf.Program // asks rules
	flows   int
}

func newWalk(tb testing.TB, rules nodes, flows []Flow) *walk {
	tb.Helper()
	w := newWalkOf(tb, flows, func(spec *ebpf.CollectionSpec) (map[string]*ebpf.Map, error) { return rules.own(spec, Shared{}) })
	if rules.asksSourcePorts() {
		w.program = w.objects.RulesPortsWalk
	}
	return w
}

// newWalk6 has a table of IPv6 addresses, and no rules.
func newWalk6(tb testing.TB, list table6, flows []Flow) *walk {
	tb.Helper()
	return newWalkOf(tb, flows, list.own)
}

// newWalkOf has the tables that own makes.
func newWalkOf(tb testing.TB, flows []Flow, own func(*ebpf.CollectionSpec) (map[string]*ebpf.Map, error)) *walk {
	tb.Helper()
	if os.Geteuid() != 0 && os.Getenv("CI") == "" {
		tb.Skip("it loads a program: run as root")
	}
	spec, err := loadWalk()
	if err != nil {
		tb.Fatal(err)
	}
	list := make([]walkWalkFlow, len(flows))
	for i, f := range flows {
		source, destination := f.Source.As4(), f.Destination.As4()
		list[i] = walkWalkFlow{
			Source: binary.NativeEndian.Uint32(source[:]), Destination: binary.NativeEndian.Uint32(destination[:]),
			SourcePort: f.SourcePort<<8 | f.SourcePort>>8, DestinationPort: f.Port<<8 | f.Port>>8, Protocol: uint8(f.Protocol), Direction: uint8(f.Direction),
		}
	}
	tables, err := own(spec)
	if err != nil {
		tb.Fatal(err)
	}
	defer closeMaps(tables)
	_ = tables["walk_flows"].Close()
	if tables["walk_flows"], err = ArrayOf(spec.Maps["walk_flows"], list); err != nil {
		tb.Fatal(err)
	}
	w := &walk{tb: tb, flows: len(flows)}
	if err := spec.LoadAndAssign(&w.objects, &ebpf.CollectionOptions{MapReplacements: tables}); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = w.objects.Close() })
	w.program = w.objects.RulesWalk
	w.seek(0)
	return w
}

// seek lets the program go on with that flow.
func (w *walk) seek(flow int) {
	w.tb.Helper()
	if err := w.objects.WalkStates.Put(uint32(0), walkWalkState{Next: uint32(flow), Flows: uint32(w.flows)}); err != nil {
		w.tb.Fatal(err)
	}
}

// ask returns the rule that the next flow is of, from 1, 0 where it is of none.
func (w *walk) ask() int {
	w.tb.Helper()
	rule, err := w.program.Run(&ebpf.RunOptions{Data: make([]byte, 64)})
	if err != nil {
		w.tb.Fatal(err)
	}
	return int(rule)
}

// time is how long the rules take for a flow, on the mean of so many, in nanoseconds.
func (w *walk) time(flows int) float64 {
	w.tb.Helper()
	return w.timeOf(w.program, flows)
}

// marks is the same of what is known of remote addresses.
func (w *walk) marks(flows int) float64 {
	w.tb.Helper()
	return w.timeOf(w.objects.RemoteWalk, flows)
}

// marks6 is the same of IPv6 addresses.
func (w *walk) marks6(flows int) float64 {
	w.tb.Helper()
	return w.timeOf(w.objects.Remote6Walk, flows)
}

// timeOf is the same of one of the programs.
func (w *walk) timeOf(program *ebpf.Program, flows int) float64 {
	w.tb.Helper()
	run := func(p *ebpf.Program) float64 {
		_, taken, err := p.Benchmark(make([]byte, 64), flows, nil)
		if err != nil {
			w.tb.Fatal(err)
		}
		return float64(taken.Nanoseconds())
	}
	return run(program) - run(w.objects.RulesIdle)
}
