package bench

import (
	"context"

	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

// preparation looks for a rate at which a device takes every session (RFC 9693, test
// phase 1), from the one that the last trial found.
type preparation struct {
	rate  float64 // frames per second
	spare int     // rates that may still be tried; -1 is any number
}

const (
	// sparedRates is how many rates are tried below one at which half or less was
	// lost: half that rate loses nothing of a device that was only too slow.
	sparedRates = 2
	// mostPasses is how often the sessions are sent, if some are lost at any rate, and
	// mostUnmade the share of them that may be missing then.
	mostPasses = 4
	mostUnmade = 0.001
)

// newPreparation begins at the rate that the last trial found, or high; a lossy device
// is known to lose some at any rate.
func newPreparation(known float64, lossy bool) preparation {
	p := preparation{known, -1}
	if known == 0 {
		p.rate = 2 * firstRate
	}
	if lossy {
		p.spare = 0
	}
	return p
}

// slower halves the rate after one that lost a share of the sessions, and reports
// whether that can help.
func (p *preparation) slower(loss float64) bool {
	if p.spare < 0 && loss <= 0.5 {
		p.spare = sparedRates
	}
	if p.spare == 0 && loss <= 0.5 || p.rate <= leastRate {
		return false
	}
	p.spare = max(p.spare-1, -1)
	p.rate = max(p.rate/2, leastRate)
	return true
}

// Prepare is phase 1 as preparation: afterwards the device has all sessions. In
// the paced set-up it goes at a rate that is safely below what the device can do. Of
// a device that loses some at any rate they are sent again.
func (s *Sessions) Prepare(ctx context.Context) error {
	if s.bench.Mode != Paced {
		_, err := s.establish(ctx, trafficgen.Plan{Frames: s.tester.Flows.Count()})
		return err
	}
	_, err := s.PrepareSome(ctx, s.tester.Flows.Count())
	return err
}

// PrepareSome is Prepare of the first so many sessions in the paced set-up. It returns
// the rate, in frames per second.
func (s *Sessions) PrepareSome(ctx context.Context, sessions int) (float64, error) {
	for p := newPreparation(s.rate, s.lossy); ; {
		var o trafficgen.Outcome
		gates, err := s.gates.attempt(mostAttempts, func() (err error) {
			if err = s.dut.Reset(ctx); err == nil {
				o, err = s.Establish(ctx, trafficgen.Plan{Frames: sessions, Rate: p.rate})
			}
			return err
		})
		if err != nil {
			return 0, err
		}
		if o.Lost() == 0 {
			s.rate = p.rate
			s.gates.join(gates)
			return p.rate, nil
		}
		if !p.slower(o.LossRatio()) {
			s.rate = 0 // what else was in this trial says nothing about the next
			s.gates.join(gates)
			return p.rate, s.sendAgain(ctx, p.rate, o)
		}
	}
}

// sendAgain sends all sessions until each has come once, or often enough.
func (s *Sessions) sendAgain(ctx context.Context, rate float64, first trafficgen.Outcome) error {
	all := int(first.Sent)
	made, err := s.tester.Seen()
	passes := 1
	for ; err == nil && made < all && passes < mostPasses; passes++ {
		if _, err = s.tester.Run(ctx, trafficgen.Plan{Frames: all, Rate: rate}, true); err == nil {
			made, err = s.tester.Seen()
		}
	}
	if err != nil {
		return err
	}
	missing := all - made
	s.gates.Require("prepared", float64(missing) <= mostUnmade*float64(all), "%.2g %% of the sessions were lost at %.0f/s, which no lower rate makes better; %d of %d are missing after %d attempts",
		100*first.LossRatio(), rate, missing, all, passes)
	if missing == 0 && !s.lossy {
		s.lossy = true
		s.bench.Note("%s loses sessions at any rate, %.2g %% of them at %.0f/s: they were sent %d times before each was there", s.dut.Name, 100*first.LossRatio(), rate, passes)
	}
	return nil
}
