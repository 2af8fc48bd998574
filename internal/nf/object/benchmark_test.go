package object

import (
	"slices"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/nftest"
)

// BenchmarkCompare measures what it adds to a packet to be asked by a function of a user's own that says nothing: one that
// may rewrite, of which the description is compared, and one that only reads, of which the headers are, too. The
// measurements take turns, as the machine's speed drifts; the values are medians over a built-in function.
func BenchmarkCompare(b *testing.B) {
	code := nftest.Compile(b, source("", "return NF_CONTINUE;"))
	of := map[string]nf.Function{"built-in": nftest.Fixed(nf.Continue), "rewrites": Object{Code: code, Rewrites: true}, "reads": Object{Code: code}}
	programs, taken := map[string]*ebpf.Program{}, map[string][]float64{}
	for name, f := range of {
		programs[name] = nftest.New(b).Only(f)
	}
	frame := make([]byte, 64)
	for b.Loop() {
		for name, p := range programs {
			_, each, err := p.Benchmark(frame, 100_000, nil)
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
	for _, name := range []string{"rewrites", "reads"} {
		b.ReportMetric(median(name)-median("built-in"), "ns/"+name)
	}
	b.ReportMetric(median("built-in"), "ns/built-in")
}
