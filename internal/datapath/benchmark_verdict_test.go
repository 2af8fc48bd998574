package datapath

import (
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/chain"
	"github.com/realmgate/realmgate/internal/model"
)

// benchmarkBans is how many addresses are banned, none of them one that is sent to.
const (
	benchmarkBans  = 20_000
	benchmarkFlows = 150_000 // a third of them in the rounds
)

// BenchmarkVerdict measures what deciding about a first packet takes, part by part:
// each beyond the same session where nothing is decided. In each round all of them
// open as many sessions, one after the other.
func BenchmarkVerdict(b *testing.B) {
	const fresh = benchmarkFlows / 3
	const sessions = benchmarkFlows - fresh
	options := Options{Capacity: benchmarkFlows, Outbound: outboundAddresses(1 + sessions/32_000)}
	var rigs []*rig
	var times []timings
	kinds := []string{"nothing", "bans", "chain", "filter", "both"}
	for _, kind := range kinds {
		r := newRig(b, options)
		if kind == "bans" || kind == "both" {
			r.ban(benchmarkBans)
		}
		switch kind {
		case "chain":
			r.judge(nil)
		case "filter", "both":
			filter := chain.Filter{Deny: []chain.Rule{{Destination: netip.MustParsePrefix("203.0.113.0/24")}}}
			r.judge([]chain.Step{{Name: "all/filter", Number: 1, Function: filter}})
		}
		r.fill(sessions, model.UDP)
		r.aim(flows(sessions, options.Capacity, model.UDP))
		rigs, times = append(rigs, r), append(times, timings{})
	}
	for i := range rounds {
		for k, r := range rigs {
			r.measure(&times[k], r.data.objects.GatewayPrivate, false, i*(fresh/rounds), fresh/rounds)
		}
	}
	var base []float64
	for _, t := range times {
		beyond := make([]float64, rounds)
		for i := range beyond {
			beyond[i] = t.whole[i] - times[0].whole[i]
		}
		base = append(base, median(beyond))
	}
	b.ReportMetric(median(times[0].whole)-median(times[0].parse), "ns/op")
	for k := 1; k < len(kinds); k++ {
		b.ReportMetric(base[k], kinds[k]+"-ns")
	}
}

// BenchmarkEveryPacket measures what packets of open sessions take beyond others where a
// function of their chain sees every one: a mirror, while nobody captures.
func BenchmarkEveryPacket(b *testing.B) {
	const sessions = 10_000
	plain, seen := newRig(b, Options{Capacity: sessions * 2, Outbound: outboundAddresses(1)}), newRig(b, Options{Capacity: sessions * 2, Outbound: outboundAddresses(1)})
	seen.judge([]chain.Step{{Name: "all/mirror", Number: 1, Function: chain.Mirror{}}})
	times := make([]timings, 2)
	for _, r := range []*rig{plain, seen} {
		r.fill(sessions, model.UDP)
		r.aim(r.outgoing())
		r.run(r.data.objects.GatewayPrivate, false, sessions, Redirect) // each session learns its next hop
	}
	var beyond []float64
	for i := range rounds {
		for k, r := range []*rig{plain, seen} {
			r.measure(&times[k], r.data.objects.GatewayPrivate, false, 0, chunk)
		}
		beyond = append(beyond, times[1].whole[i]-times[0].whole[i])
	}
	b.ReportMetric(median(times[0].whole)-median(times[0].parse), "ns/op")
	b.ReportMetric(median(beyond), "beyond-ns")
}

func (r *rig) ban(count int) {
	r.tb.Helper()
	list := map[netip.Prefix]time.Time{}
	for i := range count { // flows that nobody opens
		list[netip.PrefixFrom(addressOf(flow(benchmarkFlows+i, model.UDP).Destination), 32)] = Forever
	}
	if err := r.data.PutBans(list); err != nil {
		r.tb.Fatal(err)
	}
}

// judge makes every flow be judged by a chain of these functions.
func (r *rig) judge(steps []chain.Step) {
	r.tb.Helper()
	chains := []chain.Chain{{Name: "all", Rules: []chain.Rule{{}}, Steps: steps}}
	made, err := r.data.MakeChains(func(tables ChainTables, first uint32) (Chains, error) {
		made, err := chain.Build(chains, chain.Shared(tables), first, &chain.States{})
		return Chains(made), err
	})
	if err != nil {
		r.tb.Fatal(err)
	}
	defer made.Close()
	if _, err = r.data.SetPolicy(rigSettings, nil, made); err != nil {
		r.tb.Fatal(err)
	}
}
