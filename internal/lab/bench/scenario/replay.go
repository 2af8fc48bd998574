package scenario

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"time"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/method"
	"github.com/realmgate/realmgate/internal/lab/bench/replay"
	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/packets"
)

var replayCapture = bench.Scenario{
	Name:    "replay",
	About:   "a capture of your own (--pcap), packet by packet through NAT44: what arrives, and how long each takes",
	Devices: natDevices,
	Modes:   fullLoad, Sessions: replay.MostFlows, Repeat: 1,
	Captured: true,
	Run:      runReplay,
}

const (
	// replayWait is how long a packet may take before it is lost, and mostReplayLost
	// how many of a trial may be before it ends.
	replayWait     = 50 * time.Millisecond
	mostReplayLost = 2000
)

func runReplay(ctx context.Context, b *bench.Bench) error {
	file, err := os.Open(b.Capture)
	if err != nil {
		return fmt.Errorf("open the capture: %w", err)
	}
	defer file.Close()
	recording, err := replay.Read(file)
	if err != nil {
		return fmt.Errorf("%s: %w", b.Capture, err)
	}
	flows, hosts := len(recording.Flows), recording.Hosts
	b.Note("%d packets of %d flows that %d hosts began; %s", len(recording.Packets), flows, hosts, recording.Told())
	b.Note("the end that a flow's first packet comes from stands inside, the other outside at an address of its own; ports, payloads and the order are the capture's. "+
		"Each packet is sent when the one before has arrived, or is lost after %s: times in the capture are not kept, and packets says how fast the tester, a program, is with the device", replayWait)
	_, pool := bench.FlowsFor(max(flows, hosts), hosts)
	expect(b, 1)
	return b.Compare(ctx, bench.Comparison{
		Setup: bench.Setup{Sessions: flows, Timeout: natTimeout, NAT: pool},
		Flows: trafficgen.Flows{ // of the tester's own, which sends none
			Sources: trafficgen.Addresses{First: insideHost(0), Count: 1}, SourcePorts: trafficgen.SourcePorts.Some(1),
			Destinations: trafficgen.Addresses{First: outsideEnd(0), Count: 1}, DestinationPorts: trafficgen.DestinationPorts.Some(1),
		},
		Measure: func(ctx context.Context, bed *bench.Bed) ([]bench.Measure, error) {
			return measureReplay(ctx, bed, recording)
		},
	})
}

func insideHost(n int) netip.Addr {
	return trafficgen.Addresses{First: bench.Sources.Addr()}.At(n + 2)
}

func outsideEnd(flow int) netip.Addr {
	return trafficgen.Addresses{First: bench.Destinations.Addr()}.At(flow + 2)
}

// replayer sends a recording through a device.
type replayer struct {
	recording       *replay.Recording
	rig             *bench.Rig
	inside, outside *netns.Frames
	external        []netip.AddrPort // what each flow was translated to; invalid until its first packet came
	nat             trafficgen.Addresses
	there, back     *awaiting // what comes outside, and inside

	sent, lost, unanswered, wrong int
	delays                        []float64 // ns
}

func measureReplay(ctx context.Context, bed *bench.Bed, recording *replay.Recording) (measures []bench.Measure, err error) {
	r := &replayer{recording: recording, rig: bed.Rig, external: make([]netip.AddrPort, len(recording.Flows)), nat: bed.DUT.Translation(),
		there: newAwaiting(bench.Sources, bench.Destinations), back: newAwaiting(bench.Sources, bench.Destinations)}
	if r.inside, err = bed.Rig.Inside.Frames(bed.Rig.Initiator.Name); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.inside.Close()) }()
	if r.outside, err = bed.Rig.Outside.Frames(bed.Rig.Responder.Name); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.outside.Close()) }()
	begun := time.Now()
	for _, p := range recording.Packets {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if r.lost > mostReplayLost {
			break
		}
		if err := r.send(p); err != nil {
			return nil, err
		}
	}
	took := time.Since(begun)
	if err := errors.Join(r.drain(r.outside, r.there, false), r.drain(r.inside, r.back, true)); err != nil {
		return nil, err
	}
	whole := r.sent+r.unanswered == len(recording.Packets)
	bed.Gates.Require("complete", whole, "it ended after %d of %d packets, of which %d were lost", r.sent, len(recording.Packets), r.lost)
	bed.Gates.Require("translated", r.wrong == 0, "%d of %d packets arrived from an address that is not the device's, or not the one of their flow", r.wrong, r.sent)
	twice, astray := r.there.arrivals[doubled]+r.back.arrivals[doubled], r.there.arrivals[misdirected]+r.back.arrivals[misdirected]
	bed.Gates.Require("doubled", twice == 0, "%d of %d packets arrived twice", twice, r.sent)
	bed.Gates.Require("misdirected", astray == 0, "%d frames came to where none of them was to come, or with another payload", astray)
	share := func(n int) float64 { return 100 * float64(n) / float64(max(r.sent+r.unanswered, 1)) }
	return []bench.Measure{
		{Metric: "arrived", Unit: "%", Value: share(r.sent - r.lost)},
		{Metric: "late", Unit: "%", Value: share(r.there.arrivals[late] + r.back.arrivals[late])},
		{Metric: "delay_median", Unit: "ns", Value: method.Quantile(r.delays, 0.5)},
		{Metric: "delay_p99.9", Unit: "ns", Value: method.Quantile(r.delays, 0.999)},
		{Metric: "packets", Unit: "packets/s", Value: float64(r.sent) / took.Seconds()},
	}, bed.DUT.Reset(ctx)
}

// send sends a packet and waits for it. An answer to what never came is not sent.
func (r *replayer) send(p replay.Packet) error {
	flow := r.recording.Flows[p.Flow]
	inside := netip.AddrPortFrom(insideHost(flow.Host), flow.Tuple.Source.Port())
	outside := netip.AddrPortFrom(outsideEnd(p.Flow), flow.Tuple.Destination.Port())
	from, to, port := r.inside, r.outside, r.rig.Initiator
	source, destination := inside, outside
	if p.Back {
		if !r.external[p.Flow].IsValid() {
			r.unanswered++
			return nil
		}
		from, to, port = r.outside, r.inside, r.rig.Responder
		source, destination = outside, r.external[p.Flow]
	}
	content := p.Between(source, destination)
	frame := content.Between(packets.MAC(port.MAC), packets.MAC(port.Device)).Bytes()
	expected, whole := r.there, content
	if p.Back {
		expected, whole = r.back, p.Between(outside, inside)
	}
	expected.next(expected.identify(whole, p.Back))
	r.sent++
	begun := time.Now()
	if err := from.Send(frame); err != nil {
		return fmt.Errorf("send packet %d: %w", r.sent, err)
	}
	for deadline := begun.Add(replayWait); ; {
		frame, err := to.Receive(deadline)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			r.lost++
			expected.giveUp()
			return nil
		}
		if err != nil {
			return err
		}
		got, err := packets.Parse(frame)
		if err != nil || expected.sort(got, p.Back) != awaited {
			continue
		}
		r.delays = append(r.delays, float64(time.Since(begun).Nanoseconds()))
		if !p.Back {
			r.arrived(p.Flow, got.Tuple().Source)
		}
		return nil
	}
}

// drain sorts what came to a side after its last packet.
func (r *replayer) drain(side *netns.Frames, expected *awaiting, back bool) error {
	expected.next(identity{})
	for deadline := time.Now().Add(replayWait); ; {
		frame, err := side.Receive(deadline)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil
		}
		if err != nil {
			return err
		}
		if got, err := packets.Parse(frame); err == nil {
			expected.sort(got, back)
		}
	}
}

// arrived notes what a flow was translated to: an address of the device's, and the same for all its packets.
func (r *replayer) arrived(flow int, source netip.AddrPort) {
	known := r.external[flow]
	a := source.Addr()
	if r.nat != (trafficgen.Addresses{}) && (a.Less(r.nat.First) || r.nat.Last().Less(a)) || known.IsValid() && source != known {
		r.wrong++
	}
	r.external[flow] = source
}
