package nf

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cilium/ebpf"
)

// BenchmarkMirror measures what a mirror adds to a chain of one function that goes on:
// while nobody captures, and for packets of several lengths while somebody does. The
// measurements take turns, as the machine's speed drifts; ns/op is the median.
func BenchmarkMirror(b *testing.B) {
	const repeat = 1000 // packets that the ring has room for
	for _, c := range []struct{ length, snap uint32 }{{64, 0}, {64, 1 << 16}, {594, 1 << 16}, {1514, 1 << 16}, {1514, 96}} {
		b.Run(fmt.Sprintf("length=%d/snap=%d", c.length, c.snap), func(b *testing.B) {
			plain, mirrored := newBed(b), newBed(b)
			plain.put(Chain{Name: "plain", Rules: []Rule{{}}, Steps: steps(1, fixed{verdict: goOn})})
			mirrored.put(Chain{Name: "mirror", Rules: []Rule{{}}, Steps: []Step{{Number: 1, Function: fixed{toUser, true, false}}}})
			read := mirrored.begin(1 << 22)
			mirrored.snap(1, c.snap)
			data := make([]byte, c.length)
			run := func(p *ebpf.Program) float64 {
				_, each, err := p.Benchmark(data, repeat, nil)
				if err != nil {
					b.Fatal(err)
				}
				return float64(each.Nanoseconds())
			}
			var added []float64
			for b.Loop() {
				before := run(plain.Made.XDP.Chains[0])
				added = append(added, run(mirrored.Made.XDP.Chains[0])-before)
				if got := len(read()); c.snap > 0 && got < repeat {
					b.Fatalf("%d packets were captured, want at least %d", got, repeat)
				}
			}
			slices.Sort(added)
			b.ReportMetric(added[len(added)/2], "ns/op")
		})
	}
}
