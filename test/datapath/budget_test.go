package datapath

import (
	"errors"
	"net/netip"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/test/dataplane"
)

// onCPU keeps the calling thread, which ends with its work, on one CPU.
func onCPU(cpu int) error {
	var set unix.CPUSet
	set.Set(cpu % runtime.NumCPU())
	return unix.SchedSetaffinity(0, &set)
}

// tick is what the programs' clock_tick says now: budgets begin anew with every tick.
func (g *gateway) tick() int64 {
	g.t.Helper()
	var now unix.Timespec
	check(g.t, unix.ClockGettime(unix.CLOCK_MONOTONIC_COARSE, &now))
	return now.Nano() / int64(dataplane.Tick)
}

// inOneTick runs f until a whole run fell into one tick.
func (g *gateway) inOneTick(f func()) {
	g.t.Helper()
	for range 50 {
		tick := g.tick()
		for tick == g.tick() { // the next has all its time before it
			runtime.Gosched()
		}
		tick = g.tick()
		if f(); g.tick() == tick {
			return
		}
	}
	g.t.Fatal("no run fell into one tick")
}

// told reads how many the honeypot has told of.
func (g *gateway) told() (n int) {
	g.t.Helper()
	var events *datapath.Events[datapath.HoneypotEvent]
	g.in(func() (err error) { events, err = g.data.HoneypotEvents(); return err })
	defer func() { _ = events.Close() }()
	events.SetDeadline(time.Now())
	for ; ; n++ {
		if _, err := events.Next(); errors.Is(err, os.ErrDeadlineExceeded) {
			return n
		} else if err != nil {
			g.t.Fatal(err)
		}
	}
}

// field-attacks.md A12: with a budget of each CPU sixteen of them believed sixteen times as
// many forged ACKs, and one guess of a cookie bans anybody. However many CPUs are fed, the
// gateway answers and looks at as much as one budget allows.
func TestHoneypotHasOneBudget(t *testing.T) {
	t.Parallel()
	const (
		cpus    = 2
		answers = 256
		proofs  = 4096
	)
	g := newGateway(t)
	g.protected(nf.Addresses{})
	from, to := endpoint(remote, 40000), netip.AddrPortFrom(pool1, telnet)
	knock := outside(knocking(from, to)).Bytes()
	feed := func(frame []byte, each int) {
		g.atOnce(cpus, func(cpu int) error {
			if err := onCPU(cpu); err != nil {
				return err
			}
			for range each {
				if _, _, err := g.inject(true, g.public, frame); err != nil {
					return err
				}
			}
			return nil
		})
	}
	var answered uint64
	g.inOneTick(func() {
		before := g.counters()["answered_honeypot"]
		feed(knock, answers)
		answered = g.counters()["answered_honeypot"] - before
	})
	same(g, "SYNs answered in a tick by two CPUs", answered, answers)

	var cookie uint32
	g.inOneTick(func() { cookie = g.knock(from, to) })
	proof := outside(acknowledge(from, to, cookie)).Bytes()
	lie := outside(acknowledge(from, to, cookie+16)).Bytes()
	told := 0
	g.inOneTick(func() {
		feed(lie, proofs/cpus)
		feed(proof, 1)
		told = g.told()
	})
	same(g, "believed beyond the budget", told, 0)
	g.inOneTick(func() {
		feed(proof, 1)
		told = g.told()
	})
	same(g, "believed in another tick", told, cpus)
}
