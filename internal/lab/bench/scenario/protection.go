package scenario

import (
	"context"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

var protection = bench.Scenario{
	Name:     "protection",
	About:    "one-packet connections that geofence, blocklist and honeypot are asked about, or a program in user space (ipt_geofence)",
	Devices:  []string{"realmgate", "iptables", "nfqueue"},
	Modes:    fullLoad,
	Sessions: 100_000, // as many as ipt_geofence's authors measured
	Run:      runProtection,
}

const (
	// blocked is how many addresses are on the blocklist: as many as large public lists
	// have.
	blocked      = 100_000
	smokeBlocked = 1000
	// mostRemote is how many addresses the connections go to: nearly each to its own.
	mostRemote = 50_000
)

func runProtection(ctx context.Context, b *bench.Bench) error {
	c := protectionComparison(b)
	b.Note("each session is a connection of one packet, to %d addresses in all. realmgate asks an allowlist, a blocklist of %d addresses, a honeypot of three "+
		"ports and a geofence of made-up countries in 386,000 ranges about each; the destinations lie among as many ranges as the densest /16 of real tables has. "+
		"nfqueue asks a program, which passes all: what it would take to look addresses up comes on top (ipt_geofence: 15,965 ns for each connection). "+
		"The devices named %s decide about nothing: verdict is what a session takes beyond that there, and of nfqueue, what it takes beyond iptables",
		c.Flows.Destinations.Count, c.Setup.Blocked, undecided)
	b.Note("rate_alone, cost_alone and verdict_alone are of sessions that come one at a time, each when the one before has passed; with a program, "+
		"%d wait for it else. Of offered sessions, those that a full queue drops are lost", bench.AsynchronousWindow)
	rates := []float64{30e3, 60e3, 100e3}
	if b.Smoke {
		rates = []float64{5e3}
	}
	b.Expect((b.Repeat + 1) * (2*len(b.Devices) + 1 + len(rates)*(len(b.Devices)+1)))
	if err := compareVerdicts(ctx, b, c); err != nil {
		return err
	}
	list := make([]bench.Comparison, len(rates))
	for i, rate := range rates {
		offered := c
		offered.Parameters = map[string]float64{"offered": rate}
		offered.Measure = func(ctx context.Context, bed *bench.Bed) ([]bench.Measure, error) {
			return measureDecisions(ctx, bed, offerAt(bed, rate))
		}
		list[i] = offered
	}
	return b.Sweep(ctx, list)
}

// protectionComparison has two connections to each address.
func protectionComparison(b *bench.Bench) bench.Comparison {
	flows, pool := bench.FlowsFor(b.Sessions, b.Hosts)
	flows.Destinations.Count, flows.DestinationPorts = min(mostRemote, max(1, b.Sessions/2)), trafficgen.DestinationPorts.Some(1)
	flows.SourcePorts = trafficgen.SourcePorts.Some(max(1, b.Sessions/(flows.Destinations.Count*flows.Sources.Count)))
	noteSources(b)
	return bench.Comparison{Flows: flows, Setup: bench.Setup{
		Sessions: flows.Count(), Timeout: natTimeout, NAT: pool, Blocked: points(b, []int{smokeBlocked}, []int{blocked}, []int{blocked})[0],
	}}
}
