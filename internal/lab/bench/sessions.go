package bench

import (
	"context"
	"time"

	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

// Sessions opens sessions through a device (RFC 9693, test phase 1) and counts them.
type Sessions struct {
	dut    *DUT
	tester *Tester
	gates  *Gates
	bench  *Bench

	rate  float64 // that the last preparation found, in frames per second; 0 is none
	lossy bool    // it is said that some sessions are lost at any rate
}

// Establish is phase 1 of RFC 9693: every flow once, or the first p.Frames of
// them, through an empty table, in turns with other devices.
func (s *Sessions) Establish(ctx context.Context, p trafficgen.Plan) (trafficgen.Outcome, error) {
	if p.Frames == 0 {
		p.Frames = s.tester.Flows.Count()
	}
	return s.establish(ctx, s.tester.inTurns(p))
}

func (s *Sessions) establish(ctx context.Context, p trafficgen.Plan) (trafficgen.Outcome, error) {
	begun := time.Now()
	if err := s.beginEmpty(ctx); err != nil {
		return trafficgen.Outcome{}, err
	}
	p.Random, p.Direction = false, trafficgen.Forward
	o, err := s.tester.Run(ctx, p, p.Rate > 0)
	if err != nil {
		return o, err
	}
	if err := s.counted(ctx, int(o.Received()), int(o.Sent)); err != nil {
		return o, err
	}
	if live := s.dut.Setup.Timeout; live > 0 {
		took := time.Since(begun)
		s.gates.Require("timeout", took < live, "it took %s, and sessions live %s", took, live)
	}
	return o, nil
}

// Denied offers every flow once, in turns with other devices, to a device that lets
// none pass and keeps no session of any. The control lets all pass.
func (s *Sessions) Denied(ctx context.Context) (trafficgen.Outcome, error) {
	if err := s.beginEmpty(ctx); err != nil {
		return trafficgen.Outcome{}, err
	}
	o, err := s.tester.Run(ctx, s.tester.inTurns(trafficgen.Plan{Frames: s.tester.Flows.Count()}), true)
	if err != nil || s.dut.null {
		return o, err
	}
	s.gates.Require("denied", o.Received() == 0, "%d of %d came through", o.Received(), o.Sent)
	return o, s.counted(ctx, 0, 0)
}

// Overfill offers the first p.Frames flows to an empty table, which may be too
// small for them, and returns how many sessions the device then has: by its own count,
// or, of a box of others, as many as answer.
func (s *Sessions) Overfill(ctx context.Context, p trafficgen.Plan) (o trafficgen.Outcome, sessions int, err error) {
	s.tester.forget()
	if o, err = s.tester.Run(ctx, p, true); err != nil {
		return o, 0, err
	}
	if !s.dut.External {
		sessions, err = s.dut.Device.Count(ctx)
		return o, sessions, err
	}
	p.Direction, p.VerifyEvery = trafficgen.Reverse, 1
	answered, err := s.tester.Run(ctx, p, true)
	return o, int(answered.Received()), err
}

// TCP opens and closes every flow once as a TCP session, window of them in step,
// through an empty table.
func (s *Sessions) TCP(ctx context.Context, window int) (trafficgen.Outcome, error) {
	if err := s.beginEmpty(ctx); err != nil {
		return trafficgen.Outcome{}, err
	}
	n := s.tester.Flows.Count()
	o, err := s.tester.Run(ctx, trafficgen.Plan{TCP: true, Window: window, Frames: n * trafficgen.TCPSteps}, false)
	if err != nil {
		return o, err
	}
	return o, s.counted(ctx, n, n)
}

// Answered is what came of sessions that were offered.
type Answered struct {
	// Replies and Packets are in a second. Of a device that answers what is offered it is one
	// in which the tester had its CPU: what it did not send meanwhile is no fault of the
	// device. One that loses some works on while the tester waits, and all of it counts.
	Replies, Packets float64
	// Skipped is the share, in per cent, of the packets that came since NAT had skipped one:
	// they are not among the Packets.
	Skipped float64
}

// leastAnswered is the share of the offered sessions from which on a device keeps up with them.
const leastAnswered = 0.99

// OfferTCP opens every flow once as a TCP session, at a rate in sessions per second
// whatever becomes of them. Replies are sessions whose answer came.
func (s *Sessions) OfferTCP(ctx context.Context, window int, rate float64) (Answered, error) {
	if err := s.beginEmpty(ctx); err != nil {
		return Answered{}, err
	}
	n := s.tester.Flows.Count()
	o, err := s.tester.Run(ctx, trafficgen.Plan{TCP: true, Window: window, Frames: n * trafficgen.TCPSteps, Rate: rate * float64(trafficgen.TCPSteps)}, true)
	if err != nil {
		return Answered{}, err
	}
	replies, err := s.tester.Generator.Replies(n)
	return s.answered(o, n, replies), err
}

func (s *Sessions) answered(o trafficgen.Outcome, offered, replies int) Answered {
	skipped, _ := s.dut.skipped(o)
	seconds, came := kept(o), o.Received()
	if float64(replies) < leastAnswered*float64(offered) {
		seconds = o.Elapsed.Seconds()
	}
	return Answered{
		Replies: float64(replies) / seconds,
		Packets: float64(came-min(came, o.Responder.Untranslated)) / seconds,
		Skipped: 100 * float64(skipped) / float64(max(o.Initiator.Received+o.Responder.Received, 1)),
	}
}

// beginEmpty forgets what the responder has seen, and wants the device to have no
// session.
func (s *Sessions) beginEmpty(ctx context.Context) error {
	s.tester.forget()
	n, err := s.dut.count(ctx)
	if err == nil && n >= 0 {
		s.gates.Require("empty", n == 0, "%d sessions before the first", n)
	}
	return err
}

// counted wants the device to have a session for each whose first packet came, and
// at most for each that was sent: a packet can be lost behind the device, which has
// its session then.
func (s *Sessions) counted(ctx context.Context, came, sent int) error {
	n, err := s.dut.count(ctx)
	if err == nil && n >= 0 {
		s.gates.Require("counted", n >= came && n <= sent, "%d sessions were begun and %d came through, the device counts %d", sent, came, n)
	}
	return err
}
