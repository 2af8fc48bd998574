package connlimit

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/nftest"
)

// BenchmarkConnLimit measures what it adds to a packet of a source that has 1, 8 or 64
// connections open: one of the last of these ("goes-on"), and the first one of it
// ("opens"). The measurements take turns, as the machine's speed drifts; the values are
// medians over a function that says nothing.
func BenchmarkConnLimit(b *testing.B) {
	programs, taken := map[string]*ebpf.Program{}, map[string][]float64{}
	names := []string{"empty"}
	programs["empty"] = benched(b, nftest.Fixed(nf.Continue), 1, false)
	for _, connections := range []int{1, 8, most} {
		for what, opens := range map[string]bool{"goes-on": false, "opens": true} {
			name := fmt.Sprintf("%s-%d", what, connections)
			names = append(names, name)
			programs[name] = benched(b, ConnLimit{Connections: connections, Idle: time.Hour, Entries: 4096}, connections, opens)
		}
	}
	slices.Sort(names)
	for b.Loop() {
		for _, name := range names {
			_, each, err := programs[name].Benchmark(make([]byte, 64), 200_000, nil)
			if err != nil {
				b.Fatal(err)
			}
			taken[name] = append(taken[name], float64(each.Nanoseconds()))
		}
	}
	median := func(name string) float64 {
		slices.Sort(taken[name])
		return taken[name][len(taken[name])/2]
	}
	b.ReportMetric(0, "ns/op") // it is of all
	for _, name := range names[1:] {
		b.ReportMetric(median(name)-median("empty"), "ns/"+name)
	}
	b.ReportMetric(median("empty"), "ns/empty")
}

// benched is a program that finds the last of so many open connections described to it.
func benched(b *testing.B, f nf.Function, connections int, opens bool) *ebpf.Program {
	b.Helper()
	bed := nftest.New(b)
	program := bed.Only(f)
	last := nf.Packet{}
	for connection := range uint16(connections) {
		last = flow(1, connection)
		answer := last
		answer.Answers, answer.TcpFlags = 1, syn|ack
		bed.Ask(program, opening(last))
		bed.Ask(program, answer)
		bed.Ask(program, last)
	}
	if opens {
		last = opening(last)
	}
	if said := bed.Ask(program, last); said.Verdict != nf.Accept {
		b.Fatalf("%d connections: the last is told %v", connections, said.Verdict)
	}
	return program
}
