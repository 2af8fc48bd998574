package bench

import (
	"context"

	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

// How many frames a trial has where no duration says it: enough for a second or
// so of a device on one CPU, and fewer for few sessions. A loss ratio and a rate
// of fewer than leastFrames mean little.
const (
	fullFrames      = 1_000_000
	framesASession  = 4
	leastFrames     = 1000
	fewSessions     = 100_000
	smokeFullFrames = 20_000
)

// Load returns a plan for a trial of phase 2 (RFC 9693): flows drawn at
// random, none new, for as long as the profile says, as far as a trial can tell
// frames apart. rate is in frames per second; 0 is as fast as can be.
func (t *Tester) Load(rate float64) trafficgen.Plan {
	o := t.bench.Options
	most := trafficgen.MaxFrames
	if o.Direction == trafficgen.Both {
		most *= 2
	}
	frames := int(rate * o.Duration().Seconds())
	if rate == 0 {
		frames = o.fullFrames(t.fullRate)
	}
	return trafficgen.Plan{Frames: min(max(frames, leastFrames), most), Rate: rate, Direction: o.Direction, Random: true}
}

// fullFrames is for a trial at full load; rate is what the one before reached.
func (o Options) fullFrames(rate float64) int {
	switch {
	case o.Smoke:
		return smokeFullFrames
	case o.Profile == RFC && rate > 0:
		return int(rate * o.Duration().Seconds())
	case o.Sessions < fewSessions:
		return framesASession * o.Sessions
	}
	return fullFrames
}

// FullLoad runs a trial of phase 2 as fast as can be, in turns with other devices,
// in which nothing may be lost.
func (t *Tester) FullLoad(ctx context.Context, p trafficgen.Plan) (trafficgen.Outcome, error) {
	o, err := t.Run(ctx, t.inTurns(p), false)
	if err == nil {
		t.fullRate = o.Rate()
	}
	return o, err
}
