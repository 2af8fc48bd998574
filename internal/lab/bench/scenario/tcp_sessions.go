package scenario

import (
	"context"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

var tcpSessions = bench.Scenario{
	Name:    "tcp-sessions",
	About:   "TCP sessions of ten packets through routing, tracking, a filter and NAT; then pages by wrk and nginx (Kadlecsik and Pásztor)",
	Devices: []string{"route", "conntrack", "iptables", "nftables", "realmgate"},
	Modes:   []bench.Mode{bench.SelfClocked},
	Run:     runTCPSessions,
}

// mostTCPSessions is how many sessions a trial has: it must end before the first
// leave conntrack's TIME_WAIT of 120 s, and be counted.
const mostTCPSessions = 200_000

// tcpWindow is how many sessions go in step: several of the generator's batches.
const tcpWindow = 1024

// layer is one of the paper's test series, and who is in it.
type layer struct {
	number  float64
	setup   bench.Setup
	devices func(name string) bool
}

func runTCPSessions(ctx context.Context, b *bench.Bench) error {
	b.Sessions = min(b.Sessions, mostTCPSessions)
	b.Note("layer 1 is routing, 2 connection tracking, 3 tracking and a filter of ten rules, 4 NAT; " +
		"rate is sessions of ten packets (SYN, SYN-ACK, ACK, a data segment each way with its ACK, FIN, FIN-ACK, ACK), packets all of their packets")
	nat := natComparison(b)
	var list []bench.Comparison
	trials := 0
	for _, l := range layersOf(nat.Setup) {
		c := nat
		c.Devices = slices.DeleteFunc(slices.Clone(b.Devices), func(m bench.Model) bool { return !l.devices(m.Name) })
		c.Setup, c.Measure, c.Parameters = l.setup, measureTCP, map[string]float64{"layer": l.number}
		if len(c.Devices) > 0 {
			list = append(list, c)
			trials += len(c.Devices) + 1
		}
	}
	b.Expect((b.Repeat + 1) * (trials + len(b.Devices) + 1))
	if err := b.Sweep(ctx, list); err != nil {
		return err
	}
	return comparePages(ctx, b, nat)
}

// layersOf puts the devices that translate nothing into the layers that are theirs.
func layersOf(nat bench.Setup) []layer {
	plain := nat
	plain.NAT = trafficgen.Addresses{}
	tracked := plain
	tracked.Track = true
	filtered := tracked
	filtered.Deny = trafficgen.Addresses{First: bench.Denied, Count: 10}
	named := func(names ...string) func(string) bool {
		return func(name string) bool { return slices.Contains(names, name) }
	}
	return []layer{
		{1, plain, named("route")}, {2, tracked, named("conntrack")},
		{3, filtered, named("iptables", "iptables-nft", "nftables")},
		{4, nat, func(name string) bool { return !named("route", "conntrack")(name) }},
	}
}

func measureTCP(ctx context.Context, bed *bench.Bed) ([]bench.Measure, error) {
	o, err := bed.Sessions.TCP(ctx, tcpWindow)
	if err != nil {
		return nil, err
	}
	bed.Gates.Require("time", o.Elapsed < 100*time.Second, "it took %s, and closed sessions live 120 s", o.Elapsed)
	return []bench.Measure{
		{Metric: "rate", Unit: bench.PerSecond, Value: o.Rate() / float64(trafficgen.TCPSteps)},
		{Metric: "packets", Unit: "packets/s", Value: o.Rate()},
	}, bed.DUT.Reset(ctx)
}
