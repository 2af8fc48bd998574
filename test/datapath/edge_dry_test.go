package datapath

import (
	"slices"
	"testing"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
)

// What a packet to a proxy address would meet is told, and nothing becomes of it.
func TestDryRunToAProxyAddress(t *testing.T) {
	t.Parallel()
	g, a, b := newEdge(t)
	b.Out = false
	check(t, g.data.ChangePact(b))
	open := udp(inA, endpoint(proxyA, 53))
	g.sends(g.put(open), tagged(open, a))
	dry := g.dryOf(nf.Policy{})
	for _, c := range []struct {
		packet packets.Packet
		want   model.Reason
		pact   uint32 // number, 0 for none
	}{
		{open, "forwarded", 1}, {udp(inA, endpoint(proxyA, 9)), "forwarded", 1}, {tcp(inA, endpoint(proxyA, 80), packets.SYN), "forwarded", 1},
		{tcp(inA, endpoint(proxyA, 80), packets.ACK), "drop_not_syn", 1}, {udp(inB, endpoint(proxyB, 9)), "drop_pact_direction", 2},
		{udp(inB, endpoint(proxyA, 9)), "drop_proxy_foreign", 1}, {udp(inA, endpoint(proxies.Addr(), 9)), "drop_no_pact", 0},
		{filled(udp(inA, endpoint(proxyA, 9)), 1400).Change(func(p *packets.Packet) { p.IPv4.DF = true }), "drop_too_big", 1},
	} {
		var steps []datapath.TraceStep
		changed := g.changed(func() {
			g.in(func() (err error) {
				steps, err = dry.Run(datapath.Frame{Ifindex: g.private, Octets: addressed(c.packet).Bytes()}, datapath.Lease{})
				return err
			})
		})
		if len(changed) > 0 {
			t.Errorf("%s changed %v", c.packet, changed)
		}
		end := steps[len(steps)-1]
		if end.Kind != datapath.TraceEnd || g.data.Reason(end.Says) != c.want {
			t.Errorf("%s: %s, want %s", c.packet, g.data.Reason(end.Says), c.want)
		}
		pact := slices.IndexFunc(steps, func(s datapath.TraceStep) bool { return s.Kind == datapath.TracePact })
		link := slices.IndexFunc(steps, func(s datapath.TraceStep) bool { return s.Kind == datapath.TraceLink })
		if pact < 0 || steps[pact].Number != c.pact || steps[pact].Address != c.packet.IPv4.Destination {
			t.Errorf("%s: steps %v", c.packet, steps)
		}
		if c.pact > 0 && (link < 0 || steps[link].Number != edgeLink.Number || steps[link].Says != uint32(edgeLink.MTU)) {
			t.Errorf("%s: steps %v", c.packet, steps)
		}
	}
}
