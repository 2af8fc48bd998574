package scenario

import (
	"bytes"
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

	sent, lost, unanswered, wrong int
	delays                        []float64 // ns
}

func measureReplay(ctx context.Context, bed *bench.Bed, recording *replay.Recording) (measures []bench.Measure, err error) {
	r := &replayer{recording: recording, rig: bed.Rig, external: make([]netip.AddrPort, len(recording.Flows)), nat: bed.Translation()}
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
	whole := r.sent+r.unanswered == len(recording.Packets)
	bed.Gate("complete", whole, "it ended after %d of %d packets, of which %d were lost", r.sent, len(recording.Packets), r.lost)
	bed.Gate("translated", r.wrong == 0, "%d of %d packets arrived with another payload or from an address that is not the device's", r.wrong, r.sent)
	return []bench.Measure{
		{Metric: "arrived", Unit: "%", Value: 100 * float64(r.sent-r.lost) / float64(max(r.sent+r.unanswered, 1))},
		{Metric: "delay_median", Unit: "ns", Value: method.Quantile(r.delays, 0.5)},
		{Metric: "delay_p99.9", Unit: "ns", Value: method.Quantile(r.delays, 0.999)},
		{Metric: "packets", Unit: "packets/s", Value: float64(r.sent) / took.Seconds()},
	}, bed.Reset(ctx)
}

// send sends a packet and waits for it. An answer to what never came is not sent.
func (r *replayer) send(p replay.Packet) error {
	flow := r.recording.Flows[p.Flow]
	inside := netip.AddrPortFrom(insideHost(flow.Host), flow.Tuple.Source.Port())
	outside := netip.AddrPortFrom(outsideEnd(p.Flow), flow.Tuple.Destination.Port())
	from, to, port := r.inside, r.outside, r.rig.Initiator
	source, destination, arrives := inside, outside, outside.Addr()
	if p.Back {
		if !r.external[p.Flow].IsValid() {
			r.unanswered++
			return nil
		}
		from, to, port = r.outside, r.inside, r.rig.Responder
		source, destination, arrives = outside, r.external[p.Flow], inside.Addr()
	}
	content := p.Between(source, destination)
	frame := content.Between(packets.MAC(port.MAC), packets.MAC(port.Device)).Bytes()
	r.sent++
	begun := time.Now()
	if err := from.Send(frame); err != nil {
		return fmt.Errorf("send packet %d: %w", r.sent, err)
	}
	for deadline := begun.Add(replayWait); ; {
		frame, err := to.Receive(deadline)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			r.lost++
			return nil
		}
		if err != nil {
			return err
		}
		got, err := packets.Parse(frame)
		if err != nil || got.IPv4 == nil || got.IPv4.Destination != arrives || p.Back && got.IPv4.Source != outside.Addr() {
			continue // another program's
		}
		r.delays = append(r.delays, float64(time.Since(begun).Nanoseconds()))
		r.arrived(p, content, got)
		return nil
	}
}

// arrived notes what a flow was translated to, and whether the packet is the one sent.
func (r *replayer) arrived(p replay.Packet, sent, got packets.Packet) {
	if !bytes.Equal(got.Payload, sent.Payload) {
		r.wrong++
	}
	if p.Back {
		return
	}
	r.external[p.Flow] = got.Tuple().Source
	if a := got.IPv4.Source; r.nat != (trafficgen.Addresses{}) && (a.Less(r.nat.First) || r.nat.Last().Less(a)) {
		r.wrong++
	}
}
