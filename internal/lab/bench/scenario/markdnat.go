package scenario

import (
	"context"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

var markDNAT = bench.Scenario{
	Name:    "mark-dnat",
	About:   "new sessions from outside through a pool of 1 to 65,535 public addresses: rules, a map, names (Sharma Figure 31)",
	Devices: []string{"iptables", "nftables", "nftables-set", "realmgate"}, Modes: []bench.Mode{bench.SelfClocked}, Sessions: 50_000, Repeat: 2,
	Run: func(ctx context.Context, b *bench.Bench) error {
		b.Note("the MARKDNAT module of Sharma is not part of Linux: what takes constant time instead is a map of nftables, and realmgate's reservations; its rules matched marks, these match destinations")
		b.Note("realmgate lends the addresses by name first, which is not timed: pool-allocate measures that; each is claimed by its first packet, and the client is known when it was answered and came again; those sessions are ended before the sessions of a client that is known are timed")
		sizes := points(b, []int{1, 16}, []int{1, 256, 2048, mostLent}, []int{1, 16, 256, 2048, 16384, mostLent})
		b.Note("sessions go to %d addresses of a pool, or to all of a smaller one: compare pools from %d addresses on, whose sessions differ in nothing else", mostAsked, mostAsked)
		return sweep(ctx, b, sizes, func(size int) bench.Comparison { return poolComparison(b, size) })
	},
}

// mostLent is how many addresses the gateway lends at once: each has a binding (datapath.MaxBindings).
const mostLent = 1<<16 - 1

// mostAsked is how many addresses of the pool sessions go to: as many claims, and as
// many sessions, in every pool that is not smaller.
const mostAsked = 256

// poolComparison sends sessions to addresses in the middle of the pool, so that they
// pass by half its rules, all from one client.
func poolComparison(b *bench.Bench, size int) bench.Comparison {
	pool := trafficgen.Addresses{First: bench.Forwarded, Count: size}
	asked := min(size, mostAsked)
	flows := trafficgen.Flows{
		Sources:          trafficgen.Addresses{First: bench.Destinations.Addr().Next(), Count: 1},
		SourcePorts:      trafficgen.SourcePorts.Some(max(1, b.Sessions/asked)),
		Destinations:     trafficgen.Addresses{First: pool.At((size - asked) / 2), Count: asked},
		DestinationPorts: trafficgen.DestinationPorts.Some(1),
	}
	return bench.Comparison{
		Setup: bench.Setup{
			Sessions: flows.Count(), Timeout: natTimeout, Inbound: true,
			DNAT: trafficgen.DNAT{From: pool, To: bench.Sources.Addr()},
		},
		Flows: flows, Parameters: map[string]float64{"pool": float64(size)}, Measure: measureKnown(b, size/2),
	}
}

// measureKnown is measureRules for a client that is known wherever a device asks for that.
func measureKnown(b *bench.Bench, rules int) func(context.Context, *bench.Bed) ([]bench.Measure, error) {
	measure := measureRules(b, rules)
	return func(ctx context.Context, bed *bench.Bed) ([]bench.Measure, error) {
		if device, ok := bed.DUT.Device.(bench.Acquainter); ok {
			if err := acquaint(ctx, bed, device); err != nil {
				return nil, err
			}
		}
		return measure(ctx, bed)
	}
}

// acquaint has a session with each address: answered, and gone on. An address is lent just
// before: while the other points of a sweep have their trials, what waits for a first packet
// is over.
func acquaint(ctx context.Context, bed *bench.Bed, device bench.Acquainter) error {
	if err := device.Lend(ctx); err != nil {
		return err
	}
	all := bed.Tester.Flows
	defer func() { bed.Tester.Flows = all }()
	bed.Tester.Flows.SourcePorts = trafficgen.SourcePorts.Some(1)
	if _, err := bed.Sessions.Establish(ctx, trafficgen.Plan{}); err != nil {
		return err
	}
	for _, direction := range []trafficgen.Direction{trafficgen.Reverse, trafficgen.Forward} {
		if _, err := bed.Tester.Run(ctx, trafficgen.Plan{Frames: bed.Tester.Flows.Count(), Direction: direction}, false); err != nil {
			return err
		}
	}
	return device.EndSessions(ctx)
}
