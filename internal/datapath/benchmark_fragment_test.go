package datapath

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/model"
)

// mixedPairs is how many forged fragments there are at least, before the first comes again.
const mixedPairs = 1 << 13

// What of IP's flags and offset a tuple says, where "do not fragment" is the other way round.
const (
	mayBeDivided = 0x4000
	lastFragment = 0x4000 | 1480/8
)

// BenchmarkForgedFragments measures what packets of open sessions take in a stream in which every other frame is a
// forged fragment, beside what they take alone, in turns: "ratio" is the median of the turns, with the least and the most.
// From outside come fragments of strangers, and others in the name of remote addresses that have sessions, which are
// held; from inside those of hosts, which are held, too. Beside these: whole packets that are dropped, too, for what any
// drop costs the others.
func BenchmarkForgedFragments(b *testing.B) {
	for _, mode := range []Mode{XDP, TCX} {
		for _, sessions := range sessionCounts {
			b.Run(fmt.Sprintf("%s/sessions=%d", mode, sessions), func(b *testing.B) {
				r := newRigAt(b, mode, Options{Capacity: max(sessions, model.MinCapacity), Outbound: outboundAddresses(1 + sessions/32_000)})
				r.fill(sessions, model.UDP)
				out, in := r.outgoing(), r.replies()
				b.Run("in, strangers", func(b *testing.B) { r.mixed(b, true, in, strange(in)) })
				b.Run("in, known", func(b *testing.B) { r.mixed(b, true, in, forged(in)) })
				b.Run("out", func(b *testing.B) { r.mixed(b, false, out, forged(out)) })
				b.Run("out, beside AH", func(b *testing.B) { r.mixed(b, false, out, untranslatable(out)) })
			})
		}
	}
}

// forged are last fragments, without their first ones, in the name of who sends the tuples.
func forged(tuples []tuple) []tuple {
	random := rand.New(rand.NewPCG(2, uint64(len(tuples))))
	list := make([]tuple, max(len(tuples), mixedPairs))
	for i := range list {
		list[i] = tuples[random.IntN(len(tuples))]
		list[i].SourcePort, list[i].Fragment = uint16(random.Uint32()), swap(lastFragment)
	}
	return list
}

// strange are the same, from anybody.
func strange(tuples []tuple) []tuple {
	random := rand.New(rand.NewPCG(3, uint64(len(tuples))))
	list := forged(tuples)
	for i := range list {
		who := random.Uint32()
		list[i].Source = networkOrder(netip.AddrFrom4([4]byte{203, byte(who >> 16), byte(who >> 8), byte(who)}))
	}
	return list
}

// untranslatable are whole packets of AH, from and to the same.
func untranslatable(tuples []tuple) []tuple {
	list := forged(tuples)
	for i := range list {
		list[i].Protocol, list[i].Fragment = 51, 0
	}
	return list
}

// turns is how many there are at least of what is compared. They are short: who else uses the machine disturbs a few of
// them, and not the median. Frames of the same stream come before those that are measured, so that caches have what they would.
const (
	turns      = 100
	turn, warm = 20_000, 5_000
)

// lap measures a turn of the tuples of a list, of those that the generator was aimed at, from a position on.
func (r *rig) lap(program *ebpf.Program, public bool, first, tuples, position, count int, want uint32) float64 {
	r.tb.Helper()
	r.narrow(first, tuples, position)
	r.run(program, public, warm, want)
	return float64(count/turn) * r.run(program, public, count, want)
}

// mixed compares, with the generator's time taken off: whole packets alone, and in the mixed stream, what its fragments
// take alone taken off, too. So all that the two do to each other counts as the whole packets'.
func (r *rig) mixed(b *testing.B, public bool, whole, fragments []tuple) {
	b.Helper()
	program := r.program(public)
	for len(whole) < len(fragments) { // so that all lists take as much room in caches for each packet
		whole = append(slices.Clone(whole), whole[:min(len(whole), len(fragments)-len(whole))]...)
	}
	pairs := make([]tuple, 0, 2*len(fragments))
	for i, f := range fragments {
		pairs = append(pairs, f, whole[i])
	}
	r.aim(slices.Concat(whole, pairs, fragments))
	r.narrow(0, len(whole), 0)
	r.run(program, public, len(whole), xdpRedirect) // each session learns its next hop
	var alone, within, thrown, ratios []float64
	for i := range max(turns, b.N/turn) {
		nothing := r.lap(r.generator.BenchmarkNothing, public, 0, len(whole), i*turn, turn, xdpPass)
		alone = append(alone, r.lap(program, public, 0, len(whole), i*turn, turn, xdpRedirect)-nothing)
		both := r.lap(program, public, len(whole), len(pairs), 2*i*turn, 2*turn, xdpRedirect) - 2*nothing
		thrown = append(thrown, r.lap(program, public, len(whole)+len(pairs), len(fragments), i*turn, turn, xdpDrop)-nothing)
		within = append(within, both-thrown[i])
		ratios = append(ratios, within[i]/alone[i])
	}
	b.ReportMetric(median(within), "ns/op")
	b.ReportMetric(median(alone), "alone-ns")
	b.ReportMetric(median(thrown), "fragment-ns")
	reportTurns(b, ratios)
}

// reportTurns tells the median of ratios, and between what nine of ten of them are.
func reportTurns(b *testing.B, ratios []float64) {
	b.Helper()
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "ratio")
	b.ReportMetric(ratios[len(ratios)/20], "ratio-5%")
	b.ReportMetric(ratios[len(ratios)-1-len(ratios)/20], "ratio-95%")
}

// BenchmarkIdentification measures what packets that go out take where they may be divided, and so get an identification,
// beside those that may not, in turns.
func BenchmarkIdentification(b *testing.B) {
	for _, mode := range []Mode{XDP, TCX} {
		for _, sessions := range sessionCounts {
			b.Run(fmt.Sprintf("%s/sessions=%d", mode, sessions), func(b *testing.B) {
				r := newRigAt(b, mode, Options{Capacity: max(sessions, model.MinCapacity), Outbound: outboundAddresses(1 + sessions/32_000)})
				r.fill(sessions, model.UDP)
				whole := r.outgoing()
				divided := slices.Clone(whole)
				for i := range divided {
					divided[i].Fragment = swap(mayBeDivided)
				}
				r.aim(slices.Concat(whole, divided))
				r.narrow(0, len(whole), 0)
				program := r.program(false)
				r.run(program, false, len(whole), xdpRedirect)
				var alone, numbered, ratios []float64
				for i := range max(turns, b.N/turn) {
					nothing := r.lap(r.generator.BenchmarkNothing, false, 0, len(whole), i*turn, turn, xdpPass)
					alone = append(alone, r.lap(program, false, 0, len(whole), i*turn, turn, xdpRedirect)-nothing)
					numbered = append(numbered, r.lap(program, false, len(whole), len(whole), i*turn, turn, xdpRedirect)-nothing)
					ratios = append(ratios, numbered[i]/alone[i])
				}
				b.ReportMetric(median(numbered), "ns/op")
				b.ReportMetric(median(alone), "atomic-ns")
				reportTurns(b, ratios)
			})
		}
	}
}
