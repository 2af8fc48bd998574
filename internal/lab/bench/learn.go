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
func (b *Bed) learn(ctx context.Context) error {
	b.Tester.epoch++
	o, err := b.Tester.Generator.Run(ctx, trafficgen.Plan{
		Flows: b.Tester.Flows, Frames: min(learnFrames, b.Tester.Flows.Count()), Rate: learnRate, Length: b.Tester.bench.Length, Epoch: b.Tester.epoch,
		Pool: everywhere, CPU: b.Tester.bench.CPU, Wait: b.Tester.bench.straggle(),
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
			o.Sent, b.Tester.Flows.Sources.First, b.Tester.Flows.Destinations.First, b.Rig.Initiator.Name, astray)
	}
	seen, err := b.Tester.Generator.External(b.Tester.epoch)
	if err != nil {
		return err
	}
	source := b.Tester.Flows.Sources.First
	switch {
	case seen.First == source && seen.Count == 1:
		return fmt.Errorf("the box translates nothing: %s arrives as it is, and this measures NAT44", source)
	case source.Less(seen.First) || seen.Last().Less(source):
		b.DUT.Setup.NAT = seen
		b.Tester.bench.Note("the box translates %s to %s", source, span(seen))
	default:
		return fmt.Errorf("the box translates only some of the frames from %s: they arrive from %s", source, span(seen))
	}
	if o.Lost() > 0 {
		b.Tester.bench.Note("of the first %d frames, at %d/s, the box lost %d", o.Sent, learnRate, o.Lost())
	}
	return b.tryReset(ctx)
}

// tryReset wants no session of the first frames to be there when all have been ended.
func (b *Bed) tryReset(ctx context.Context) error {
	command := b.Rig.ResetCommand
	if command == "" {
		b.Tester.bench.Note("the box's table is not emptied between trials: sessions of one live on in the next")
		return nil
	}
	if err := b.DUT.Reset(ctx); err != nil {
		return err
	}
	o, err := b.Tester.Generator.Run(ctx, trafficgen.Plan{
		Flows: b.Tester.Flows, Frames: min(learnFrames, b.Tester.Flows.Count()), Rate: learnRate, Length: b.Tester.bench.Length, Epoch: b.Tester.epoch,
		Direction: trafficgen.Reverse, CPU: b.Tester.bench.CPU, Wait: b.Tester.bench.straggle(),
	})
	if err != nil {
		return err
	}
	if o.Received() > 0 {
		return fmt.Errorf("of %d sessions of the box %d are still there after %q: give another --reset", o.Sent, o.Received(), command)
	}
	b.Tester.bench.Note("%q empties the box's table", command)
	return nil
}

func span(a trafficgen.Addresses) string {
	if a.Count == 1 {
		return a.First.String()
	}
	return a.First.String() + "-" + a.Last().String()
}
