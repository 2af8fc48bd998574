package scenario

import (
	"context"
	"slices"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

var nfqueue = bench.Scenario{
	Name:     "nfqueue",
	About:    "new sessions that a program decides about: 1 to 8 queues (Sharma Figure 32), offered rates with loss (ipt_geofence)",
	Devices:  []string{"nfqueue", "iptables", "realmgate"},
	Modes:    []bench.Mode{bench.SelfClocked},
	Sessions: 100_000, // as many as ipt_geofence's authors measured
	Repeat:   3,
	Run:      runNFQueue,
}

// What is translated, as the parameter nat says it.
const (
	nothing = iota
	sources
	destinations
)

func runNFQueue(ctx context.Context, b *bench.Bench) error {
	b.Note("a device with a program works beside the tester, which keeps %d sessions waiting for their verdict: its rate is "+
		"that of the whole pipeline without loss, its cost the time of one new session in it; decision_time is the CPU time "+
		"of the program alone, with the kernel's work in its calls (ipt_geofence: 15,965 ns between two packets that leave)",
		bench.AsynchronousWindow)
	b.Note("nat 0 translates nothing, 1 sources, 2 destinations; by_cpu 1 chooses the queue by the CPU (queue-cpu-fanout), 0 by the addresses, " +
		"and the tester sends from one CPU")
	counts := points(b, []int{1, 4}, []int{1, 4, 8}, []int{1, 4, 8})
	rates := points(b, []float64{5e3}, []float64{30e3, 60e3, 80e3, 100e3}, []float64{30e3, 40e3, 50e3, 60e3, 70e3, 80e3, 90e3, 100e3})
	list := []bench.Comparison{queueComparison(b, 1, false, sources)}
	for _, rate := range rates {
		list = append(list, offeredComparison(b, rate))
	}
	queues := queueComparisons(b, counts)
	b.Expect((b.Repeat + 1) * ((len(b.Devices)+1)*len(list) + 2*len(queues)))
	if err := b.Sweep(ctx, list); err != nil {
		return err
	}
	return b.Sweep(ctx, queues)
}

// queueComparisons are Figure 32, of the devices that have queues.
func queueComparisons(b *bench.Bench, counts []int) (list []bench.Comparison) {
	devices := slices.DeleteFunc(slices.Clone(b.Devices), func(m bench.Model) bool { return !m.Asynchronous })
	if len(devices) == 0 {
		return nil
	}
	both := []int{nothing, destinations}
	for _, translated := range points(b, []int{destinations}, both, both) {
		for _, count := range counts {
			for _, byCPU := range []bool{false, true}[:min(2, count)] {
				c := queueComparison(b, count, byCPU, translated)
				c.Devices = devices
				list = append(list, c)
			}
		}
	}
	return list
}

// queueComparison is one bar of Figure 32.
func queueComparison(b *bench.Bench, count int, byCPU bool, translated int) bench.Comparison {
	c := natComparison(b)
	c.Setup.Queue = bench.Queue{Count: count, ByCPU: byCPU}
	c.Parameters = map[string]float64{"queues": float64(count), "by_cpu": 0, "nat": float64(translated)}
	if byCPU {
		c.Parameters["by_cpu"] = 1
	}
	if translated != sources {
		c.Setup.NAT, c.Setup.Track = trafficgen.Addresses{}, true
	}
	if translated == destinations {
		to := c.Flows.Destinations
		c.Flows.Destinations.First = bench.Forwarded
		c.Setup.DNAT = trafficgen.DNAT{From: c.Flows.Destinations, To: to.First}
	}
	c.Measure = func(ctx context.Context, bed *bench.Bed) ([]bench.Measure, error) {
		return measureDecisions(ctx, bed, trafficgen.Plan{})
	}
	return c
}

// offeredComparison is one row of ipt_geofence's second table, with what its authors
// could not see: the packets that the queue dropped.
func offeredComparison(b *bench.Bench, rate float64) bench.Comparison {
	c := natComparison(b)
	c.Setup.Queue.Count = 1
	c.Parameters = map[string]float64{"offered": rate}
	c.Measure = func(ctx context.Context, bed *bench.Bed) ([]bench.Measure, error) {
		return measureDecisions(ctx, bed, offerAt(bed, rate))
	}
	return c
}

// offerAt is as many sessions at a rate as the tester can send without a stop.
func offerAt(bed *bench.Bed, rate float64) trafficgen.Plan {
	return trafficgen.Plan{Rate: rate, Frames: min(bed.Tester.Flows.Count(), offeredAt(rate))}
}

// measureDecisions establishes all sessions, and asks a device with a program what
// it did. With a rate, sessions may be lost.
func measureDecisions(ctx context.Context, bed *bench.Bed, p trafficgen.Plan) ([]bench.Measure, error) {
	o, made, decides, err := decide(ctx, bed, p)
	if err != nil {
		return nil, err
	}
	measures := []bench.Measure{{Metric: "rate", Unit: bench.PerSecond, Value: o.Rate()}}
	if p.Rate > 0 {
		bed.Tester.Offered(o, p.Rate)
		measures = []bench.Measure{
			{Metric: "passed", Unit: "sessions/s", Value: float64(o.Received()) / o.Elapsed.Seconds()},
			{Metric: "loss", Unit: "%", Value: 100 * float64(o.Lost()) / float64(o.Sent)},
		}
	}
	if decides {
		measures = append(measures, decisionTime(made),
			bench.Measure{Metric: "queue_drops", Unit: "%", Value: 100 * float64(made.QueueFull+made.SocketFull) / float64(o.Sent)})
	}
	return measures, bed.DUT.Reset(ctx)
}

// decide wants every session that came to be decided about once, and every one that did
// not to have been dropped by a queue, where the device has a program that decides.
func decide(ctx context.Context, bed *bench.Bed, p trafficgen.Plan) (o trafficgen.Outcome, made bench.Decisions, decides bool, err error) {
	decider, decides := bed.DUT.Device.(bench.Decider)
	if !decides {
		o, err = bed.Sessions.Establish(ctx, p)
		return o, made, decides, err
	}
	before, err := decider.Decisions()
	if err != nil {
		return o, made, decides, err
	}
	if o, err = bed.Sessions.Establish(ctx, p); err != nil {
		return o, made, decides, err
	}
	after, err := bed.DUT.Decided(ctx, decider)
	if err != nil {
		return o, made, decides, err
	}
	made = after.Since(before)
	bed.Gates.Require("decided once", made.Made == o.Received(), "%d sessions came, the program decided about %d", o.Received(), made.Made)
	bed.Gates.Require("dropped by queues only", made.QueueFull+made.SocketFull == o.Lost(),
		"%d sessions lost, %d dropped by full queues, %d by full sockets", o.Lost(), made.QueueFull, made.SocketFull)
	return o, made, decides, nil
}

func decisionTime(made bench.Decisions) bench.Measure {
	return bench.Measure{Metric: "decision_time", Unit: "ns", Value: float64(made.Time.Nanoseconds()) / float64(max(made.Made, 1))}
}
