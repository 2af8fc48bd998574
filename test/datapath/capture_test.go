package datapath

import (
	"bytes"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/mirror"
	"github.com/realmgate/realmgate/test/dataplane"
)

// capture begins one, with so many bytes of the packets of each function.
func (g *gateway) capture(snaps map[uint32]uint32) *datapath.Events[datapath.Capture] {
	g.t.Helper()
	events := must(g.data.Captures())(g.t)
	g.t.Cleanup(func() { _ = events.Close() })
	check(g.t, g.data.WatchFunctions(snaps))
	return events
}

// captured wants p to be the next packet of a capture, as it came in.
func (g *gateway) captured(events *datapath.Events[datapath.Capture], want datapath.Capture, p packets.Packet, snap int) {
	g.t.Helper()
	got := must(events.Next())(g.t)
	frame := addressed(p).Bytes()
	want.Length, want.Data, want.Interface = len(frame), frame[:min(snap, len(frame))], g.private
	if !realm.Contains(p.IPv4.Source) {
		want.Interface = g.public
	}
	if now := datapath.Now(); got.At > now || now.Sub(got.At) > 60e9 {
		g.t.Errorf("captured at %d, and it is %d", got.At, now)
	}
	if got.Function != want.Function || got.Direction != want.Direction || got.Answers != want.Answers || got.Tuple != want.Tuple ||
		got.Length != want.Length || got.Interface != want.Interface || !bytes.Equal(got.Data, want.Data) {
		g.t.Errorf("captured %+v, want %+v", got, want)
	}
}

func mirrored(number uint32, more ...nf.Step) []nf.Step {
	return append([]nf.Step{{Number: number, Function: mirror.Mirror{}}}, more...)
}

// Who captures gets every packet of a flow in both directions, as it came in, also one
// that a later function drops; others pass on as if nobody captured.
func TestMirror(t *testing.T) {
	t.Parallel()
	const all = api.MostSnap
	g := newGateway(t)
	busy := endpoint(remote, 50000)
	g.chained([]nf.Rule{{Direction: model.In}, {Direction: model.Out, Value: 1}},
		mirrored(7), mirrored(8, deny(9, nf.Rule{Ports: model.Ports{First: 25, Last: 25}})...))
	mapped := g.mapped(udp(inA, server)) // and nobody captures
	events := g.capture(map[uint32]uint32{7: all, 8: 40})

	out := datapath.Capture{Function: 8, Direction: model.Out, Tuple: model.Tuple{Protocol: model.UDP, Source: inA, Destination: server}}
	g.mapped(udp(inA, server))
	g.captured(events, out, udp(inA, server), 40)
	g.forwarded(g.put(udp(server, mapped)))
	out.Answers, out.Tuple.Source, out.Tuple.Destination = true, server, inA
	g.captured(events, out, udp(server, mapped), 40)

	g.denied(tcp(inB, endpoint(remote, 25), packets.SYN))
	g.captured(events, datapath.Capture{Function: 8, Direction: model.Out, Tuple: model.Tuple{
		Protocol: model.TCP, Source: inB, Destination: endpoint(remote, 25),
	}}, tcp(inB, endpoint(remote, 25), packets.SYN), 40)

	g.lend(pool1, 80, service, nil)
	g.established(busy, lent, service)
	in := datapath.Capture{Function: 7, Direction: model.In, Tuple: model.Tuple{Protocol: model.TCP, Source: busy, Destination: service}}
	g.captured(events, in, segment(busy, lent, packets.SYN, clientISN, 0), all)
	in.Answers, in.Tuple.Source, in.Tuple.Destination = true, service, busy
	g.captured(events, in, segment(service, busy, synAck, hostISN, clientISN+1), all)
	in.Answers, in.Tuple.Source, in.Tuple.Destination = false, busy, service
	g.captured(events, in, proof(busy, lent), all)
	for number := uint32(7); number <= 9; number++ {
		if n := g.did(number); n.Failed > 0 || n.Lost > 0 || n.Seen == 0 {
			t.Errorf("function %d: %+v", number, n)
		}
	}
}

// Packets of all lengths come whole, and as much as is wanted of them.
func TestCaptureOfAllLengths(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.chained([]nf.Rule{{}}, mirrored(3))
	want := datapath.Capture{Function: 3, Direction: model.Out, Tuple: model.Tuple{Protocol: model.UDP, Source: inA, Destination: server}}
	events := g.capture(nil)
	for _, snap := range []int{1, 255, 256, 257, 512, 600, api.MostSnap} {
		check(t, g.data.WatchFunctions(map[uint32]uint32{3: uint32(snap)}))
		for _, length := range []int{0, 1, 213, 214, 215, 469, 470, 471, 1000, 1472} { // 42 octets of headers
			p := packets.NewUDP(inA, server, strings.Repeat("0123456789", 148)[:length])
			g.forwarded(g.put(p))
			g.captured(events, want, p, snap)
		}
	}
}

// What finds no room passes on and is counted; who captures later begins with an empty
// ring.
func TestCaptureIsBounded(t *testing.T) {
	t.Parallel()
	const sent = 4000
	g := newGateway(t)
	g.chained([]nf.Rule{{}}, mirrored(3))
	p := packets.NewUDP(inA, server, strings.Repeat("x", 1400))
	frame := addressed(p).Bytes()
	events := g.capture(map[uint32]uint32{3: api.MostSnap})
	g.in(func() error {
		for range sent {
			if action, _, err := g.inject(false, g.private, frame); err != nil || action != dataplane.Redirect {
				t.Fatalf("%v, %v", action, err)
			}
		}
		return nil
	})
	lost := g.did(3).Lost
	if lost == 0 || lost >= sent {
		t.Fatalf("%d of %d were lost", lost, sent)
	}
	for range sent - lost {
		if c := must(events.Next())(t); !bytes.Equal(c.Data, frame) {
			t.Fatalf("captured %+v", c)
		}
	}
	check(t, g.data.StopCaptures())
	check(t, events.Close())
	g.forwarded(g.put(p))
	again := g.capture(map[uint32]uint32{3: 20})
	small := udp(inA, server)
	g.forwarded(g.put(small))
	g.captured(again, datapath.Capture{Function: 3, Direction: model.Out, Tuple: model.Tuple{
		Protocol: model.UDP, Source: inA, Destination: server,
	}}, small, 20)
}
