package scenario

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/method"
	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

var poolAllocate = bench.Scenario{
	Name:     "pool-allocate",
	About:    "question, address lent, first packet at the host: per second and how long, with reservations half-open, by names",
	Devices:  []string{"realmgate"},
	Modes:    []bench.Mode{bench.SelfClocked},
	Sessions: 20_000,
	Repeat:   3,
	Run:      runPoolAllocate,
}

const (
	allocateServices = 64
	allocateHosts    = 4
	allocateWorkers  = 16
	// allocateRate is offered where the time of a single allocation counts.
	allocateRate = 1000
	// lastWithin is how long the last first packets may take.
	lastWithin = 2 * time.Second
	// mostAllocations bounds a trial: each takes a port of some address for a while.
	mostAllocations  = 50_000
	smokeAllocations = 200
)

// allocatePool has more ports than the most reservations that stand.
var allocatePool = trafficgen.Addresses{First: bench.FirstTranslated, Count: 4096}

func runPoolAllocate(ctx context.Context, b *bench.Bench) error {
	b.Null, b.Report.Control = bench.Model{}, "" // it has nothing to lend
	b.Devices = slices.DeleteFunc(slices.Clone(b.Devices), func(m bench.Model) bool {
		_, lends := m.New().(bench.Lender)
		if !lends {
			b.Note("%s is left out: it lends no addresses", m.Name)
		}
		return !lends
	})
	b.Note("a client outside asks by UDP, without verification and without quotas, and sends the first packet from an endpoint that nobody "+
		"has used; the time is taken when it is at the host. rate is that of %d askers as fast as they can; p50 and p99 are at %d a second, "+
		"from when a question was due, though all askers were still waiting for an answer then. "+
		"Client, gateway and hosts share the CPUs", allocateWorkers, allocateRate)
	standing := points(b, []int{0, 100}, []int{0, 1000, 10_000, 100_000}, []int{0, 1000, 10_000, 100_000})
	names := points(b, []int{1, 64}, []int{1, 65_536}, []int{1, 64, 4096, 65_536})
	b.Expect((len(standing) + len(names)) * (b.Repeat + 1) * len(b.Devices))
	for _, n := range standing {
		c := allocateComparison(b, allocateHosts, allocateServices, n)
		c.Parameters = map[string]float64{"half_open": float64(n)}
		if err := b.Compare(ctx, c); err != nil {
			return err
		}
	}
	for _, n := range names {
		services := min(n, allocateServices)
		c := allocateComparison(b, n/services, services, 0)
		c.Parameters = map[string]float64{"names": float64(n)}
		if err := b.Compare(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func allocateComparison(b *bench.Bench, hosts, services, standing int) bench.Comparison {
	flows, _ := bench.FlowsFor(1, 1) // the tester's own traffic is not used
	c := bench.Comparison{
		Flows: flows,
		Setup: bench.Setup{
			Sessions: 1 << 20, Timeout: 5 * time.Second,
			Pool: bench.Pool{Addresses: allocatePool, Hosts: hosts, Services: services, HalfOpen: 2 * (standing + mostAllocations)},
		},
	}
	most := min(b.Sessions, mostAllocations)
	if b.Smoke {
		most = min(most, smokeAllocations)
	}
	client := &poolClient{pool: c.Setup.Pool, began: time.Now(), arrived: make([]atomic.Int64, mostClaims)}
	c.Measure = func(ctx context.Context, bed *bench.Bed) (measures []bench.Measure, err error) {
		if err := errors.Join(bed.Rig.Hosts(), client.open(bed.Rig)); err != nil {
			return nil, errors.Join(err, client.close())
		}
		defer func() { err = errors.Join(err, client.close()) }()
		return measureAllocations(ctx, bed, bed.DUT.Device.(bench.Lender), client, most, standing)
	}
	return c
}

// measureAllocations is a trial: as many as can be, then at a rate.
func measureAllocations(ctx context.Context, bed *bench.Bed, lender bench.Lender, c *poolClient, most, standing int) ([]bench.Measure, error) {
	if err := c.stand(ctx, lender, standing); err != nil {
		return nil, err
	}
	fast, err := c.allocate(ctx, most, 0)
	if err != nil {
		return nil, err
	}
	steady, err := c.allocate(ctx, min(most, 2*allocateRate), allocateRate)
	if err != nil {
		return nil, err
	}
	still, err := lender.HalfOpen(ctx)
	if err != nil {
		return nil, err
	}
	bed.Gates.Require("standing", still >= standing, "%d of %d reservations stood at the end", still, standing)
	bed.Gates.Require("lent", fast.refused+steady.refused == 0, "%d questions got no address", fast.refused+steady.refused)
	arrived, sent := len(fast.delays)+len(steady.delays), most+min(most, 2*allocateRate)
	lost := 1 - float64(arrived)/float64(sent)
	bed.Gates.Require("claimed", lost == 0, "%d of %d first packets arrived", arrived, sent)
	at := func(share float64) float64 { return method.Quantile(steady.delays, share) / 1e3 }
	return []bench.Measure{
		{Metric: "rate", Unit: "allocations/s", Value: float64(len(fast.delays)) / fast.took.Seconds()},
		{Metric: "p50", Unit: "µs", Value: at(0.5)},
		{Metric: "p99", Unit: "µs", Value: at(0.99)},
		{Metric: "loss", Unit: "%", Value: 100 * lost},
	}, bed.DUT.Reset(ctx)
}

// stand leaves so many reservations standing: each address that asks gets one for each
// name.
func (c *poolClient) stand(ctx context.Context, lender bench.Lender, reservations int) error {
	const firstAsker = 256 // below are those that measure
	for {
		used, err := lender.HalfOpen(ctx)
		if err != nil || used >= reservations {
			return err
		}
		for missing := reservations - used; missing > 0; missing -= c.pool.Names() {
			a, err := c.asker(ctx, firstAsker+c.askers)
			if err != nil {
				return err
			}
			for n := range min(missing, c.pool.Names()) {
				if _, err = a.ask(n); err != nil {
					break
				}
			}
			if err = errors.Join(err, a.close(), ctx.Err()); err != nil {
				return err
			}
			c.askers = (c.askers + 1) % (1 << 14)
		}
	}
}

// allocations is how some went.
type allocations struct {
	took    time.Duration
	delays  []float64 // ns, of those whose first packet arrived
	refused int
}

// allocate makes n allocations by workers that each do one after the other, at a
// rate in all per second, or as fast as they can at 0.
func (c *poolClient) allocate(ctx context.Context, n, rate int) (result allocations, err error) {
	askers := make([]*asker, allocateWorkers)
	for w := range askers {
		if askers[w], err = c.asker(ctx, w); err != nil {
			return result, err
		}
		defer func() { _ = askers[w].close() }()
	}
	claims := make([]uint64, n)
	var refused atomic.Int64
	began := time.Now()
	due, err := turns(ctx, len(askers), n, rate, func(w, i int) error {
		lent, err := askers[w].ask(i)
		if errors.Is(err, errNotLent) || errors.Is(err, os.ErrDeadlineExceeded) {
			refused.Add(1)
			return nil
		}
		if err == nil {
			claims[i], err = askers[w].claim(i, lent)
		}
		return err
	})
	result.took, result.refused = time.Since(began), int(refused.Load())
	if err != nil {
		return result, err
	}
	result.delays, err = c.delays(ctx, due, claims)
	return result, err
}

// turns has workers do n things, each worker one after the other, at a rate in all
// per second, or as fast as they can at 0, and returns when each was due. At a rate
// that is when its time came, though every worker was busy with an earlier one: what
// a slow answer holds up has waited, too.
func turns(ctx context.Context, workers, n, rate int, do func(worker, turn int) error) (due []time.Time, err error) {
	due = make([]time.Time, n)
	failed := make([]error, workers)
	var next atomic.Int64
	var running sync.WaitGroup
	began := time.Now()
	for w := range workers {
		running.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil && failed[w] == nil; i = int(next.Add(1)) - 1 {
				due[i] = time.Now()
				if rate > 0 {
					due[i] = began.Add(time.Duration(i) * time.Second / time.Duration(rate))
					time.Sleep(time.Until(due[i]))
				}
				failed[w] = do(w, i)
			}
		})
	}
	running.Wait()
	return due, errors.Join(append(failed, ctx.Err())...)
}

// delays waits for the last packets on their way, and returns how long each
// allocation took whose packet came, from when it was due.
func (c *poolClient) delays(ctx context.Context, due []time.Time, claims []uint64) (delays []float64, err error) {
	deadline := time.Now().Add(lastWithin)
	for {
		delays = delays[:0]
		for i, claim := range claims {
			begun := int64(due[i].Sub(c.began))
			if arrived := c.arrived[claim%mostClaims].Load(); claim > 0 && arrived > begun {
				delays = append(delays, float64(arrived-begun))
			}
		}
		if len(delays) == len(due) || time.Now().After(deadline) {
			return delays, ctx.Err()
		}
		time.Sleep(time.Millisecond)
	}
}
