package demo

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/oncpu"
)

// Round is the machine at rest, then the two flows as fast as can be through a kernel
// that routes, then through the chains.
type Round struct {
	Idle    Usage `json:"idle"`
	Routing Usage `json:"routing"`
	Chain   Usage `json:"chain"`
}

// Usage is what was seen in a while. All of it, the sender and the hosts too, is on one
// machine.
type Usage struct {
	Rates  [2]float64 `json:"rates"`  // of the flows at their hosts, bits of IP packets a second
	CPU    float64    `json:"cpu"`    // per cent of all CPUs
	Packet float64    `json:"packet"` // CPU time of the machine for each packet that arrived, s
	Memory int64      `json:"memory"` // in use on the machine, KB
	// OnCPU was seen in another while of the same kind: to see it costs CPU time. The zero
	// value: it cannot be seen on this machine.
	OnCPU oncpu.Switches `json:"on_cpu"`
}

// way is where the flows of a round are sent to: at an address of a gateway, or of the
// hosts themselves.
type way struct {
	hosts []netns.Node
	to    [2]netip.Addr
}

// load is Hanna's experiment 2.
func (e *experiment) load(ctx context.Context) error {
	e.tell.note(fmt.Sprintf("Both flows want to send %g Mbit/s, %d times %s: through a kernel that", e.plan.load/1e6, e.rounds, e.round),
		"routes, and through the chains, then both again while each context switch is",
		"seen. Sender, gateways and hosts share the CPUs.", "")
	unseen := e.seeSwitches()
	if unseen != nil {
		e.tell.say("Context switches cannot be seen here, and are left out:")
		e.tell.note(unseen.Error(), "")
		e.tell.see("unseen", unseen.Error())
	}
	routed := way{e.beside.Hosts, [2]netip.Addr{e.beside.Hosts[0].IP, e.beside.Hosts[1].IP}}
	chained := way{e.through.Hosts, [2]netip.Addr{e.through.PublicAddress, e.through.PublicAddress}}
	for range e.rounds {
		var r Round
		windows := []struct {
			usage  *Usage
			during during
		}{
			{&r.Idle, func() ([2]int, time.Duration, error) { return [2]int{}, e.round, rest(ctx, e.round) }},
			{&r.Routing, func() ([2]int, time.Duration, error) { return e.flood(ctx, routed) }},
			{&r.Chain, func() ([2]int, time.Duration, error) { return e.flood(ctx, chained) }},
		}
		for _, w := range windows {
			var err error
			if *w.usage, err = e.usage(w.during); err != nil {
				return err
			}
		}
		for _, w := range windows {
			if unseen != nil {
				break
			}
			var err error
			if w.usage.OnCPU, err = e.switches(w.during); err != nil {
				return err
			}
		}
		e.measured.Rounds = append(e.measured.Rounds, r)
	}
	e.tellLoad()
	e.tell.see("rounds", e.measured.Rounds)
	return nil
}

// during goes on for a while, and says how many packets of each flow arrived, and in
// what time.
type during func() ([2]int, time.Duration, error)

// seeSwitches tries whether context switches can be seen: a kernel without BTF, or one that
// does not let programs trace it, is no reason to show nothing.
func (e *experiment) seeSwitches() error {
	recorder, err := e.record()
	if err == nil {
		_, err = recorder.Stop()
	}
	return err
}

// switches sees all context switches while something goes on.
func (e *experiment) switches(during during) (oncpu.Switches, error) {
	recorder, err := e.record()
	if err != nil {
		return oncpu.Switches{}, err
	}
	_, _, err = during()
	s, failed := recorder.Stop()
	return s, errors.Join(err, failed)
}

// usage measures what happens while something goes on.
func (e *experiment) usage(during during) (u Usage, err error) {
	before, err := readCPUTime()
	if err != nil {
		return u, err
	}
	memory := make(chan int64, 1)
	half := time.AfterFunc(e.round/2, func() {
		used, _ := usedMemory() // it can be read, as before
		memory <- used
	})
	defer half.Stop()
	began := time.Now()
	arrived, took, err := during()
	elapsed := time.Since(began)
	if err != nil {
		return u, err
	}
	after, err := readCPUTime()
	if err != nil {
		return u, err
	}
	u.CPU, u.Memory = after.since(before), <-memory
	for i, n := range arrived {
		u.Rates[i] = float64(n) * packetBits / took.Seconds()
	}
	if all := arrived[0] + arrived[1]; all > 0 {
		u.Packet = u.CPU / 100 * elapsed.Seconds() * float64(cpus()) / float64(all)
	}
	return u, nil
}

// flood sends both flows at once and returns what arrived.
func (e *experiment) flood(ctx context.Context, w way) (arrived [2]int, took time.Duration, err error) {
	phases := []phase{{e.plan.load, e.round}}
	flows := make([]flow, len(flowPorts))
	defer func() {
		for _, f := range flows {
			f.close()
		}
	}()
	epoch := time.Now()
	for i := range flows {
		if flows[i], err = e.open(ctx, w.to[i], i, w.hosts[i], phases[0].packets(), epoch); err != nil {
			return arrived, 0, err
		}
	}
	failed := make(chan error, len(flows))
	began := time.Now()
	limit, cancel := context.WithTimeout(ctx, e.round)
	defer cancel()
	for i := range flows {
		go func() { failed <- first(func() error { return flows[i].send(limit, phases) }) }()
	}
	err = errors.Join(<-failed, <-failed)
	took = time.Since(began)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return arrived, 0, err
	}
	for i := range flows {
		arrived[i] = flows[i].sink.total()
	}
	return arrived, took, ctx.Err()
}

// tellLoad prints the tables, medians of all rounds, beside the thesis's.
func (e *experiment) tellLoad() {
	median := func(of func(Round) float64) float64 {
		values := make([]float64, 0, len(e.measured.Rounds))
		for _, r := range e.measured.Rounds {
			values = append(values, of(r))
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	row := func(what, format string, of func(Usage) float64, then string) {
		cell := func(pick func(Round) Usage) string {
			return fmt.Sprintf(format, median(func(r Round) float64 { return of(pick(r)) }))
		}
		e.tell.note(fmt.Sprintf("%-22s %10s %10s %10s   %s", what, cell(func(r Round) Usage { return r.Idle }), cell(func(r Round) Usage { return r.Routing }),
			cell(func(r Round) Usage { return r.Chain }), then))
	}
	e.tell.say("Medians of %d rounds, and what Hanna has:", len(e.measured.Rounds))
	e.tell.note(fmt.Sprintf("%-22s %10s %10s %10s   %s", "", "IDLE", "ROUTING", "CHAINS", "HANNA"))
	row("flow 1, Mbit/s", "%.1f", func(u Usage) float64 { return u.Rates[0] / 1e6 }, "- / 801.6 / 797")
	row("flow 2, Mbit/s", "%.1f", func(u Usage) float64 { return u.Rates[1] / 1e6 }, "- / 804 / 800")
	row("CPU utilisation, %", "%.0f", func(u Usage) float64 { return u.CPU }, "0 / - / 0")
	row("CPU of a packet, µs", "%.2f", func(u Usage) float64 { return u.Packet * 1e6 }, "")
	if e.measured.Rounds[0].Chain.OnCPU.Seconds > 0 {
		row("context switches, 1/s", "%.0f", func(u Usage) float64 { return float64(u.OnCPU.Tasks().Total()) / u.OnCPU.Seconds }, "")
		row("most often after, µs", "%.0f", func(u Usage) float64 { return float64(oncpu.LowerBound(u.OnCPU.Tasks().Mode()).Microseconds()) }, "2048 / - / 2048")
	}
	row("memory in use, KB", "%.0f", func(u Usage) float64 { return float64(u.Memory) }, "766664 / - / 766844")
}
