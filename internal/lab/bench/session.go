package bench

import (
	"context"

	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

// TCPSessions opens and closes every flow once as a TCP session, window of them in
// step, through an empty table.
func (b *Bed) TCPSessions(ctx context.Context, window int) (trafficgen.Outcome, error) {
	if err := b.beginEmpty(ctx); err != nil {
		return trafficgen.Outcome{}, err
	}
	n := b.Flows.Count()
	o, err := b.Run(ctx, trafficgen.Plan{TCP: true, Window: window, Frames: n * trafficgen.TCPSteps}, false)
	if err != nil {
		return o, err
	}
	return o, b.counted(ctx, n, n)
}

// TCPOffered opens every flow once as a TCP session, at a rate in sessions per second
// whatever becomes of them, and returns how many replies came.
func (b *Bed) TCPOffered(ctx context.Context, window int, rate float64) (o trafficgen.Outcome, replies int, err error) {
	if err := b.beginEmpty(ctx); err != nil {
		return o, 0, err
	}
	n := b.Flows.Count()
	p := trafficgen.Plan{TCP: true, Window: window, Frames: n * trafficgen.TCPSteps, Rate: rate * float64(trafficgen.TCPSteps)}
	if o, err = b.Run(ctx, p, true); err != nil {
		return o, 0, err
	}
	b.Offered(o, p.Rate)
	replies, err = b.Tester.Replies(n)
	return o, replies, err
}

// beginEmpty forgets what the responder has seen, and wants the device to have no
// session.
func (b *Bed) beginEmpty(ctx context.Context) error {
	b.epoch = b.epoch%65535 + 1
	n, err := b.count(ctx)
	if err == nil && n >= 0 {
		b.Gate("empty", n == 0, "%d sessions before the first", n)
	}
	return err
}

// counted wants the device to have a session for each whose first packet came, and
// at most for each that was sent: a packet can be lost behind the device, which has
// its session then.
func (b *Bed) counted(ctx context.Context, came, sent int) error {
	n, err := b.count(ctx)
	if err == nil && n >= 0 {
		b.Gate("counted", n >= came && n <= sent, "%d sessions were begun and %d came through, the device counts %d", sent, came, n)
	}
	return err
}
