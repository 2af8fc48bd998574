package bench

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

// Frames by which a box is got to know, and their rate: any should keep up.
const (
	learnFrames = 1000
	learnRate   = 5000
)

// everywhere is the pool of a device of which nothing is known.
var everywhere = trafficgen.Addresses{First: netip.MustParseAddr("0.0.0.1"), Count: 1<<32 - 2}

// mostPortsExternal is how many source ports a single address has.
const mostPortsExternal = 64512

// externalFlows returns flows for about so many sessions between the single pair
// of addresses.
func externalFlows(sessions int) trafficgen.Flows {
	destinationPorts := (sessions + mostPortsExternal - 1) / mostPortsExternal
	return trafficgen.Flows{
		Sources:          trafficgen.Addresses{First: externalInitiator.own.Addr(), Count: 1},
		SourcePorts:      trafficgen.SourcePorts.Some(max(1, sessions/destinationPorts)),
		Destinations:     trafficgen.Addresses{First: externalResponder.own.Addr(), Count: 1},
		DestinationPorts: trafficgen.DestinationPorts.Some(destinationPorts),
	}
}

// learn sends a few frames through an unknown box, and sees whether they come and
// what it translates their sources to.
func (t *Tester) learn(ctx context.Context) error {
	t.epoch++
	o, err := t.Generator.Run(ctx, trafficgen.Plan{
		Flows: t.Flows, Frames: min(learnFrames, t.Flows.Count()), Rate: learnRate, Length: t.bench.Length, Epoch: t.epoch,
		Pool: everywhere, CPU: t.bench.CPU, Wait: t.bench.straggle(),
	})
	if err != nil {
		return err
	}
	if o.Received() == 0 {
		astray := ""
		if n := o.Responder.Misdirected; n > 0 {
			astray = fmt.Sprintf(" %d came to a wrong address or port", n)
		}
		return fmt.Errorf("none of %d frames from %s to %s came through the box: does it forward, and is %s its private side?%s",
			o.Sent, t.Flows.Sources.First, t.Flows.Destinations.First, t.rig.Initiator.Name, astray)
	}
	seen, err := t.Generator.External(t.epoch)
	if err != nil {
		return err
	}
	source := t.Flows.Sources.First
	switch {
	case seen.First == source && seen.Count == 1:
		return fmt.Errorf("the box translates nothing: %s arrives as it is, and this measures NAT44", source)
	case source.Less(seen.First) || seen.Last().Less(source):
		t.dut.Setup.NAT = seen
		t.bench.Note("the box translates %s to %s", source, span(seen))
	default:
		return fmt.Errorf("the box translates only some of the frames from %s: they arrive from %s", source, span(seen))
	}
	if o.Lost() > 0 {
		t.bench.Note("of the first %d frames, at %d/s, the box lost %d", o.Sent, learnRate, o.Lost())
	}
	return t.tryReset(ctx)
}

// tryReset wants no session of the first frames to be there when all have been ended.
func (t *Tester) tryReset(ctx context.Context) error {
	command := t.rig.ResetCommand
	if command == "" {
		t.bench.Note("the box's table is not emptied between trials: sessions of one live on in the next")
		return nil
	}
	if err := t.dut.Reset(ctx); err != nil {
		return err
	}
	o, err := t.Generator.Run(ctx, trafficgen.Plan{
		Flows: t.Flows, Frames: min(learnFrames, t.Flows.Count()), Rate: learnRate, Length: t.bench.Length, Epoch: t.epoch,
		Direction: trafficgen.Reverse, CPU: t.bench.CPU, Wait: t.bench.straggle(),
	})
	if err != nil {
		return err
	}
	if o.Received() > 0 {
		return fmt.Errorf("of %d sessions of the box %d are still there after %q: give another --reset", o.Sent, o.Received(), command)
	}
	t.bench.Note("%q empties the box's table", command)
	return nil
}

func span(a trafficgen.Addresses) string {
	if a.Count == 1 {
		return a.First.String()
	}
	return a.First.String() + "-" + a.Last().String()
}
