package scenario

import (
	"context"
	"slices"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

var firstPacketVerdict = bench.Scenario{
	Name:     "first-packet-verdict",
	About:    "what deciding about a new session takes: a filter and bans, a rule, or a program in user space (ipt_geofence)",
	Devices:  []string{"realmgate", "iptables", "nfqueue"},
	Modes:    fullLoad,
	Sessions: 200_000,
	Run:      runVerdict,
}

const (
	// verdictBans is how many addresses are banned beside the one that is filtered.
	verdictBans = 20_000
	smokeBans   = 100
	// aloneFrames are enough where each waits for a program to decide about the one before.
	aloneFrames = 20_000
	// mostWaitedShare is which part of a trial the program, or a tester that a window
	// keeps waiting, may wait for a CPU: to be woken up takes some of it.
	mostWaitedShare = 8
	// undecided ends the name of a device that decides about nothing.
	undecided = "-open"
)

func runVerdict(ctx context.Context, b *bench.Bench) error {
	b.Note("each session is new. realmgate has a chain with a filter of one rule, and %d bans; iptables has one rule; nfqueue has that rule and a program "+
		"that is asked about each session. The devices named %s are the same with no filter, ban or rule: verdict is what a session takes beyond that there, "+
		"and of nfqueue, what it takes beyond iptables", bans(b), undecided)
	b.Note("the program of nfqueue works beside the tester on another CPU where there is one, and %d sessions wait for it: its verdict is what it holds up "+
		"new sessions by, not all of the work, of which decision_time has the program's part. rate_alone, cost_alone and verdict_alone are "+
		"of sessions that come one at a time, each when the one before has passed", bench.AsynchronousWindow)
	b.Note("rate_denied is of sessions that the filter, or the rule, denies: the control lets them pass. Realmgate tells the host inside, up to a rate; " +
		"a device with a program is left out, since the tester waits for what passes")
	c := natComparison(b)
	c.Setup.Deny, c.Setup.Bans = trafficgen.Addresses{First: bench.Denied, Count: 1}, bans(b)
	b.Expect((b.Repeat + 1) * (3*len(b.Devices) + 2))
	if err := compareVerdicts(ctx, b, c); err != nil {
		return err
	}
	c.Setup.Deny = c.Flows.Destinations
	return compareDenied(ctx, b, c)
}

func bans(b *bench.Bench) int {
	return points(b, []int{smokeBans}, []int{verdictBans}, []int{verdictBans})[0]
}

// open are the devices once more, deciding about nothing. What is to be known of a
// program is its difference to the same rules without it.
func open(models []bench.Model) (list []bench.Model) {
	for _, m := range models {
		if m.Asynchronous {
			continue
		}
		decides := m.New
		m.Name += undecided
		m.New = func() bench.Device { return openDevice{decides()} }
		list = append(list, m)
	}
	return list
}

type openDevice struct{ bench.Device }

func (d openDevice) Up(ctx context.Context, rig *bench.Rig, setup bench.Setup) error {
	setup.Deny, setup.Bans, setup.Blocked = trafficgen.Addresses{}, 0, 0
	return d.Device.Up(ctx, rig, setup)
}

// compareVerdicts compares the devices with themselves when they decide about nothing.
func compareVerdicts(ctx context.Context, b *bench.Bench, c bench.Comparison) error {
	all := b.Devices
	defer func() { b.Devices = all }()
	b.Devices = append(slices.Clone(all), open(all)...)
	c.InTurns = true
	c.Without = map[string]string{"nfqueue": "iptables"}
	for _, m := range b.Devices {
		if !m.Asynchronous {
			c.Without[m.Name] = m.Name + undecided
		}
	}
	c.Measure = func(ctx context.Context, bed *bench.Bed) ([]bench.Measure, error) {
		load, err := measureVerdict(ctx, b, bed, trafficgen.Plan{}, "")
		if err != nil {
			return nil, err
		}
		plan := trafficgen.Plan{Frames: bed.Tester.Flows.Count(), Window: 1, Batch: 1}
		if bed.DUT.Asynchronous {
			plan.Frames = min(plan.Frames, aloneFrames)
		}
		alone, err := measureVerdict(ctx, b, bed, plan, "_alone")
		return append(load, alone...), err
	}
	return b.Compare(ctx, c)
}

// measureVerdict names the metrics by how the sessions come.
func measureVerdict(ctx context.Context, b *bench.Bench, bed *bench.Bed, p trafficgen.Plan, how string) ([]bench.Measure, error) {
	o, made, decides, err := decide(ctx, bed, p)
	if err != nil {
		return nil, err
	}
	measures := []bench.Measure{{Metric: "rate", Unit: bench.PerSecond, Value: o.Rate()}}
	if decides {
		measures = append(measures, decisionTime(made))
	}
	if decides && !b.Smoke {
		bed.Gates.Require("contention", made.Waited <= o.Elapsed/mostWaitedShare, "the program that decides waited %s of %s for its CPU", made.Waited, o.Elapsed)
	}
	if p.Window > 0 && !b.Smoke {
		bed.Gates.Require("contention", o.Waited <= o.Elapsed/mostWaitedShare, "the tester waited %s of %s for its CPU", o.Waited, o.Elapsed)
	}
	for i := range measures {
		measures[i].Metric += how
	}
	return measures, bed.DUT.Reset(ctx)
}

// compareDenied is of a setup that lets no session pass. Devices with a program take no
// part.
func compareDenied(ctx context.Context, b *bench.Bench, c bench.Comparison) error {
	all := b.Devices
	defer func() { b.Devices = all }()
	b.Devices = slices.DeleteFunc(slices.Clone(all), func(m bench.Model) bool { return m.Asynchronous })
	if len(b.Devices) == 0 {
		return nil
	}
	c.InTurns = true
	c.Measure = func(ctx context.Context, bed *bench.Bed) ([]bench.Measure, error) {
		o, err := bed.Sessions.Denied(ctx)
		if err != nil {
			return nil, err
		}
		return []bench.Measure{{Metric: "rate_denied", Unit: bench.PerSecond, Value: o.Rate()}}, bed.DUT.Reset(ctx)
	}
	return b.Compare(ctx, c)
}
