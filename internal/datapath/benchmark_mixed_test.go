package datapath

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/model"
)

// BenchmarkMixed measures packets of open sessions that come from both sides by turns, a row of them from each, beside
// those that come from one side alone: what the program of the one side costs that of the other. ns/op is a packet of
// mixed traffic, beyond-ns how much longer it takes than the mean of the two sides.
func BenchmarkMixed(b *testing.B) {
	for _, sessions := range sessionCounts {
		r := newRig(b, Options{Capacity: max(sessions, model.MinCapacity), Outbound: outboundAddresses(1 + sessions/32_000)})
		r.fill(sessions, model.UDP)
		out, in := r.outgoing(), r.replies()
		in = slices.Concat(in[len(in)/3:], in[:len(in)/3]) // or a session's answers come right behind its packets
		for _, row := range []int{1, 32} {                 // 32: what a batch of 64 frames has of each
			b.Run(fmt.Sprintf("sessions=%d/row=%d", sessions, row), func(b *testing.B) { r.mixedSides(b, out, in, row) })
		}
	}
}

func (r *rig) mixedSides(b *testing.B, out, in []tuple, row int) {
	b.Helper()
	whole := len(out) / row * row
	both := make([]tuple, 0, 2*whole)
	for i := 0; i < whole; i += row {
		both = append(append(both, out[i:i+row]...), in[i:i+row]...)
	}
	r.aim(slices.Concat(out, in, both))
	private, public := r.program(false), r.program(true)
	if err := r.generator.BenchmarkPrograms.Put(uint32(1), public); err != nil {
		b.Fatal(err)
	}
	lap := func(program *ebpf.Program, first, tuples, row, position, count int, want uint32) float64 {
		r.row = row
		r.narrow(first, tuples, position)
		return r.run(program, false, count, want)
	}
	lap(private, 0, len(out), 0, 0, len(out), xdpRedirect) // each session learns its next hops
	lap(public, len(out), len(in), 0, 0, len(in), xdpRedirect)
	var mixed, beyond []float64
	for i := range max(rounds/2, b.N/chunk) {
		nothing := lap(r.generator.BenchmarkNothing, 0, len(out), 0, i*chunk, chunk, xdpPass)
		alone := lap(private, 0, len(out), 0, i*chunk, chunk, xdpRedirect) +
			lap(public, len(out), len(in), 0, i*chunk, chunk, xdpRedirect)
		elsewhere := 2*i*chunk + whole // sessions that the two before have not brought into caches
		together := lap(private, len(out)+len(in), len(both), row, elsewhere, 2*chunk, xdpRedirect)
		mixed = append(mixed, together-nothing)
		beyond = append(beyond, together-alone/2)
	}
	r.row = 0
	b.ReportMetric(median(mixed), "ns/op")
	b.ReportMetric(median(beyond), "beyond-ns")
}
