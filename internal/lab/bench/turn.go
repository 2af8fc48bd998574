package bench

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

// A trial in turns is sent in so many parts, and between two of them the other devices
// have theirs: what the machine's other users do in the meantime meets all devices
// alike. A part is long enough that what the caches lost to the others is found again
// in a hundredth of it.
const (
	partsOfTrial = 10
	leastPart    = 10_000
)

// inTurns divides a plan, where other devices have their turns between its parts and no
// clock says when its frames are sent.
func (t *Tester) inTurns(p trafficgen.Plan) trafficgen.Plan {
	if t.turns && p.Rate == 0 && !p.TCP && !t.dut.Asynchronous {
		p.Part = max((p.Frames+partsOfTrial-1)/partsOfTrial, leastPart)
	}
	return p
}

// leaveOut takes the parts that others disturbed out of a trial's rate, unless they are
// more than half: then the trial stays as it is, and false is returned.
func leaveOut(parts []trafficgen.Part, stolen []float64) bool {
	var disturbed []int
	for i, p := range parts {
		if stolen[i] > mostStolen || p.Waited > max(mostWaitedPart, p.Elapsed/mostWaitedShare) {
			disturbed = append(disturbed, i)
		}
	}
	if len(parts) == 1 || 2*len(disturbed) > len(parts) {
		return false
	}
	for _, i := range disturbed {
		parts[i].Out = true
	}
	return true
}

// mostWaitedPart is what the tester may have waited for its CPU before a part began.
const mostWaitedPart = time.Millisecond

// neighbours are the devices that are in turns with each other, with one of those in
// each group whose sessions are in tables that the whole machine has in common: the
// sessions of another would be in its way.
func neighbours(beds []*Bed) (groups [][]*Bed) {
	var apart []*Bed
	for _, bed := range beds {
		if !bed.DUT.common() {
			apart = append(apart, bed)
		}
	}
	for _, bed := range beds {
		if bed.DUT.common() {
			groups = append(groups, append(apart[:len(apart):len(apart)], bed))
		}
	}
	if len(groups) == 0 {
		groups = append(groups, apart)
	}
	return groups
}

// common reports whether the device's sessions are in tables that the machine has in
// common.
func (m Model) common() bool { return m.Bytes != nil && !m.Held }

// errLeft is what a trial ends with when another one failed.
var errLeft = errors.New("another device's trial failed")

// round gives each device a trial. One of them goes on until it yields or is over.
func (b *Bench) round(ctx context.Context, c Comparison, beds []*Bed, round int, results *collector) error {
	var waiting []func() (error, bool)
	for _, i := range order(round, len(beds)) {
		bed := beds[i]
		next, stop := iter.Pull(func(back func(error) bool) {
			bed.Tester.yield = func() error {
				if !back(nil) {
					return errLeft
				}
				return nil
			}
			if err := b.trial(ctx, c, bed, round, results); err != nil && !errors.Is(err, errLeft) {
				back(err)
			}
		})
		defer stop()
		waiting = append(waiting, next)
	}
	for len(waiting) > 0 {
		next := waiting[0]
		waiting = waiting[1:]
		switch err, more := next(); {
		case err != nil:
			return err
		case more:
			waiting = append(waiting, next)
		}
	}
	return nil
}

// order is the devices' of a round, drawn anew for each, so that none always
// follows the same other. It is the same in every run.
func order(round, devices int) []int {
	return rand.New(rand.NewPCG(orderSeed, uint64(round))).Perm(devices)
}

const orderSeed = 9693
