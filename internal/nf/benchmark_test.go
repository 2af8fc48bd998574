package nf

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/realmgate/realmgate/internal/model"
)

// half is all that benchmarks take addresses from.
const half = 1 << 31

func addressOf(n uint32) netip.Addr {
	return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
}

// scattered returns count prefixes of one address, which are in 0.0.0.0/1 and all
// different.
func scattered(count int) []netip.Prefix {
	list := make([]netip.Prefix, count)
	for i := range list {
		list[i] = netip.PrefixFrom(addressOf(uint32(i)*2654435761%half), 32)
	}
	return list
}

// ruleEach has a rule for each prefix.
func ruleEach(prefixes []netip.Prefix) []Rule {
	rules := make([]Rule, len(prefixes))
	for i, p := range prefixes {
		rules[i] = Rule{Direction: model.In, Source: p, Protocol: model.TCP, Value: uint32(i)}
	}
	return rules
}

// denySet has the rules of a filter that denies a set.
func denySet(prefixes []netip.Prefix) []Rule {
	ranges := make([]model.AddressRange, len(prefixes))
	for i, p := range prefixes {
		ranges[i] = model.RangeOf(p)
	}
	s := model.NewAddressSet(ranges)
	return []Rule{{Direction: model.Out, DestinationSet: s}, {Direction: model.In, SourceSet: s}}
}

func mustCompile(tb testing.TB, rules []Rule) nodes {
	tb.Helper()
	t, err := compile(rules)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// mustLoad makes the tables of a filter, as a reload does.
func mustLoad(tb testing.TB, rules []Rule) {
	tb.Helper()
	spec, err := loadMatching()
	if err != nil {
		tb.Fatal(err)
	}
	own, err := mustCompile(tb, rules).own(spec, Shared{})
	if err != nil {
		tb.Fatal(err)
	}
	closeMaps(own)
}

// BenchmarkRules measures what rules.h takes for a flow, with one rule and with as many
// as there may be, and with a set of one entry and of a million, in turns. All flows
// that are asked about are of a rule ("found"), or none is ("missed"): it is the same
// with few and with many. They are 64, so that the first cache has all that is needed,
// 4,096, or a million different ones, so that none has it. In "changing" the next
// generation is made all the while.
func BenchmarkRules(b *testing.B) {
	all, others := []netip.Prefix{netip.MustParsePrefix("0.0.0.0/1")}, []netip.Prefix{netip.MustParsePrefix("128.0.0.0/1")}
	for _, of := range []struct {
		name  string
		rules func([]netip.Prefix) []Rule
		count int
	}{{"rules", ruleEach, MostRules}, {"set", denySet, 1_000_000}} {
		prefixes := scattered(of.count)
		many := mustCompile(b, of.rules(prefixes))
		change := func() { mustLoad(b, of.rules(prefixes)) }
		for _, flows := range []struct {
			name     string
			found    bool
			count    int
			changing func()
		}{
			{"found-64", true, 64, nil}, {"found-64-changing", true, 64, change}, {"found-4096", true, 4096, nil}, {"found-all", true, 1 << 20, nil},
			{"missed-64", false, 64, nil}, {"missed-64-changing", false, 64, change}, {"missed-4096", false, 4096, nil}, {"missed-all", false, 1 << 20, nil},
		} {
			b.Run(of.name+"/"+flows.name, func(b *testing.B) {
				random := rand.New(rand.NewPCG(1, uint64(flows.count)))
				list := make([]Flow, flows.count)
				for i := range list {
					from := addressOf(random.Uint32N(half))
					if flows.found {
						from = prefixes[random.IntN(of.count)].Addr()
					}
					list[i] = Flow{Direction: model.In, Source: from, Destination: netip.MustParseAddr("10.0.0.100"), Protocol: model.TCP, Port: 80}
				}
				few := mustCompile(b, of.rules(others))
				if flows.found {
					few = mustCompile(b, of.rules(all))
				}
				stop := changing(flows.changing)
				defer stop()
				compare(b, newWalk(b, few, list).time, newWalk(b, many, list).time)
			})
		}
	}
}

// BenchmarkProtection measures what it takes to find what is known of a flow's remote
// address: with one prefix blocked, and with a geofence of 280,000 ranges, as one of some
// countries has, alone and beside a million addresses that are blocked. Addresses are 64, so that the first cache
// has all that is needed, 4,096, or a million different ones, so that none has it.
func BenchmarkProtection(b *testing.B) {
	blocked, fenced := make([]model.AddressRange, 0, 1_000_000), make([]model.AddressRange, 280_000)
	for _, p := range scattered(1_000_000) {
		blocked = append(blocked, model.RangeOf(p))
	}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range fenced {
		first := random.Uint32() &^ 0xff
		fenced[i] = model.AddressRange{First: first, Last: first | 0xff<<random.IntN(8)}
	}
	compile := func(of Addresses) nodes {
		made, err := Remote{In: of}.compile()
		if err != nil {
			b.Fatal(err)
		}
		return made
	}
	few := compile(Addresses{Blocked: setOf("0.0.0.0/1")})
	fence, dense := model.NewAddressSet(fenced), slices.Clone(fenced)
	const denseAt, denseRanges = 198<<24 | 18<<16, 10_724 // tor-geoipdb of 2026-06
	for n := uint32(0); n < 1<<16; n += 1 << 16 / (denseRanges / 2) {
		dense = append(dense, model.AddressRange{First: denseAt + n, Last: denseAt + n})
	}
	for _, of := range []struct {
		name  string
		table nodes
		first uint32
		mask  uint32 // of the bits that addresses differ in
	}{
		{"geofence", compile(Addresses{Fenced: fence}), 0, math.MaxUint32},
		{"geofence-and-blocklist", compile(Addresses{Blocked: model.NewAddressSet(blocked), Fenced: fence}), 0, math.MaxUint32},
		{"dense", compile(Addresses{Fenced: model.NewAddressSet(dense)}), denseAt, 1<<16 - 1},
	} {
		for _, count := range []int{64, 4096, 1 << 20} {
			b.Run(fmt.Sprintf("%s/addresses-%d", of.name, count), func(b *testing.B) {
				list := make([]Flow, count)
				for i := range list {
					from := addressOf(of.first | random.Uint32()&of.mask)
					list[i] = Flow{Direction: model.In, Source: from, Destination: netip.MustParseAddr("10.0.0.100"), Protocol: model.TCP, Port: 80}
				}
				compare(b, newWalk(b, few, list).marks, newWalk(b, of.table, list).marks)
			})
		}
	}
}

// changing does it again and again until it is told to stop; nil is nothing.
func changing(change func()) (stop func()) {
	if change == nil {
		return func() {}
	}
	done, gone := make(chan bool), make(chan bool)
	go func() {
		defer close(gone)
		for {
			select {
			case <-done:
				return
			default:
				change()
			}
		}
	}()
	return func() {
		close(done)
		<-gone
	}
}

// compare reports the medians of both, and of their ratio in each turn.
func compare(b *testing.B, few, many func(flows int) float64) {
	const flows = 1 << 19
	few(flows)
	many(flows)
	var ones, others, ratios []float64
	for b.Loop() {
		one, other := few(flows), many(flows)
		ones, others, ratios = append(ones, one), append(others, other), append(ratios, other/one)
	}
	median := func(list []float64) float64 {
		slices.Sort(list)
		return list[len(list)/2]
	}
	b.ReportMetric(0, "ns/op") // it is of both
	b.ReportMetric(median(ones), "ns/few")
	b.ReportMetric(median(others), "ns/many")
	b.ReportMetric(median(ratios), "many/few")
}

// BenchmarkLoadSet measures how long a filter with a set of a million takes until it is
// in the kernel.
func BenchmarkLoadSet(b *testing.B) {
	prefixes := scattered(1_000_000)
	for b.Loop() {
		mustLoad(b, denySet(prefixes))
	}
}
