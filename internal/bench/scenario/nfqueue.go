package scenario

import (
	"context"
	"slices"

	"github.com/realmgate/realmgate/internal/bench"
	"github.com/realmgate/realmgate/internal/bench/trafficgen"
)

var nfqueue = bench.Scenario{
	Name:    "nfqueue",
	About:   "new sessions that a program decides about: cost of each, 1 to 8 queues, offered rates with loss",
	Devices: []string{"nfqueue", "iptables", "realmgate"},
	Modes:   []bench.Mode{bench.SelfClocked},
	Run:     runNFQueue,
}

// queueSessions is as many as ipt_geofence was measured with.
const queueSessions = 100_000

// queueCounts are the numbers of queues (PRGW thesis, Figure 32, and one).
var queueCounts = []int{1, 4, 8}

// queueRates are offered, new sessions per second (ipt_geofence, section 4).
var queueRates = []float64{30_000, 40_000, 50_000, 60_000, 70_000, 80_000, 90_000, 100_000}

func runNFQueue(ctx context.Context, b *bench.Bench) error {
	b.Sessions = min(b.Sessions, queueSessions)
	b.Note("a device with a program works beside the tester, which keeps %d sessions waiting for their verdict: its rate is "+
		"that of the whole pipeline without loss, its cost the time of one new session in it, on all CPUs; decision_time is "+
		"the CPU time of the program alone, with the kernel's work in its calls (ipt_geofence: 15,965 ns between two packets)",
		bench.AsynchronousWindow)
	counts, rates := queueCounts, queueRates
	if b.Smoke {
		counts, rates = []int{1, 4}, []float64{50_000}
	}
	all := b.Devices
	defer func() { b.Devices = all }()
	b.Expect((b.Repeat + 1) * (len(all) + 1 + (4*(len(counts)-1)+1)*2 + 2*len(rates)))
	for _, translate := range []bool{true, false} {
		for _, count := range counts {
			for _, byCPU := range []bool{false, true}[:min(2, count)] {
				if err := b.Compare(ctx, queueComparison(b, count, byCPU, translate)); err != nil {
					return err
				}
				// What has no queues is measured once.
				b.Devices = slices.DeleteFunc(slices.Clone(all), func(m bench.Model) bool { return !m.Asynchronous })
				if len(b.Devices) == 0 {
					return nil
				}
			}
		}
	}
	for _, rate := range rates {
		if err := b.Compare(ctx, offeredComparison(b, rate)); err != nil {
			return err
		}
	}
	return nil
}

// queueComparison is one bar of Figure 32.
func queueComparison(b *bench.Bench, count int, byCPU, translate bool) bench.Comparison {
	c := natComparison(b)
	c.Setup.Queue = bench.Queue{Count: count, ByCPU: byCPU}
	c.Parameters = map[string]float64{"queues": float64(count), "by_cpu": number(byCPU), "nat": number(translate)}
	if !translate {
		c.Setup.NAT, c.Setup.Track = trafficgen.Addresses{}, true
	}
	c.Measure = func(ctx context.Context, bed *bench.Bed) ([]bench.Measure, error) {
		return measureDecisions(ctx, bed, trafficgen.Plan{})
	}
	return c
}

func number(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// offeredComparison is one row of ipt_geofence's second table, with what its
// authors could not see: the packets that the queue dropped.
func offeredComparison(b *bench.Bench, rate float64) bench.Comparison {
	c := natComparison(b)
	c.Parameters = map[string]float64{"offered": rate}
	c.Measure = func(ctx context.Context, bed *bench.Bed) ([]bench.Measure, error) {
		return measureDecisions(ctx, bed, trafficgen.Plan{Rate: rate})
	}
	return c
}

// measureDecisions establishes all sessions, and asks a device with a program what
// it did. With a rate, sessions may be lost.
func measureDecisions(ctx context.Context, bed *bench.Bed, p trafficgen.Plan) ([]bench.Measure, error) {
	decider, decides := bed.Device.(bench.Decider)
	var before, after bench.Decisions
	var err error
	if decides {
		if before, err = decider.Decisions(); err != nil {
			return nil, err
		}
	}
	o, err := bed.Establish(ctx, p)
	if err != nil {
		return nil, err
	}
	if decides {
		if after, err = decider.Decisions(); err != nil {
			return nil, err
		}
	}
	measures := []bench.Measure{{Metric: "rate", Unit: bench.PerSecond, Value: o.Rate()}}
	if p.Rate > 0 {
		measures = []bench.Measure{
			{Metric: "passed", Unit: "sessions/s", Value: float64(o.Received()) / o.Elapsed.Seconds()},
			{Metric: "loss", Unit: "%", Value: 100 * float64(o.Lost()) / float64(o.Sent)},
		}
	}
	if decides {
		measures = append(measures, decisions(bed, o, before, after)...)
	}
	return measures, bed.Reset(ctx)
}

// decisions wants every session that came to be decided about once, and every one
// that did not to have been dropped by a queue.
func decisions(bed *bench.Bed, o trafficgen.Outcome, before, after bench.Decisions) []bench.Measure {
	made := after.Made - before.Made
	queue, socket := after.QueueFull-before.QueueFull, after.SocketFull-before.SocketFull
	bed.Gate("decided once", made == o.Received(), "%d sessions came, the program decided about %d", o.Received(), made)
	bed.Gate("dropped by queues only", queue+socket == o.Lost(), "%d sessions lost, %d dropped by full queues, %d by full sockets", o.Lost(), queue, socket)
	return []bench.Measure{
		{Metric: "decision_time", Unit: "ns", Value: float64((after.Time - before.Time).Nanoseconds()) / float64(max(made, 1))},
		{Metric: "queue_drops", Unit: "%", Value: 100 * float64(queue+socket) / float64(o.Sent)},
	}
}
