package datapath

import (
	"testing"
	"time"

	"net/netip"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/test/dataplane"
)

const synAck = packets.SYN | packets.ACK

var web = endpoint(remote, 80)

func TestRFC5382_REQ1_EndpointIndependentMapping(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	first := g.mapped(tcp(inA, web, packets.SYN))
	for _, to := range []netip.AddrPort{server2, endpoint(remote, 443)} {
		same(g, "outside endpoint", g.mapped(tcp(inA, to, packets.SYN)), first)
	}
}

// step is a segment of a conversation; from inside when out is set.
type step struct {
	out   bool
	flags packets.Flags
	state string // of the session after it
}

const (
	sent     = true
	received = false
)

// converse plays a conversation between inA and web and wants every segment
// translated and the session in the states said.
func (g *gateway) converse(out netip.AddrPort, steps []step) {
	g.t.Helper()
	for i, s := range steps {
		if s.out {
			g.leaves(g.put(tcp(inA, web, s.flags)), tcp(out, web, s.flags))
		} else {
			g.leaves(g.put(tcp(web, out, s.flags)), tcp(web, inA, s.flags))
		}
		if state := g.state(); state != s.state {
			g.t.Fatalf("after segment %d (%s): %s, want %s", i+1, s.flags, state, s.state)
		}
	}
}

var conversations = map[string][]step{
	"opened and closed from inside": {
		{sent, packets.SYN, "syn"}, {received, synAck, "syn_both"}, {sent, packets.ACK, "established"},
		{sent, packets.PSH | packets.ACK, "established"}, {received, packets.ACK, "established"},
		{sent, packets.FIN | packets.ACK, "fin_out"}, {received, packets.ACK, "fin_out"},
		{received, packets.PSH | packets.ACK, "fin_out"}, // half closed
		{received, packets.FIN | packets.ACK, "fin_both"}, {sent, packets.ACK, "fin_both"},
	},
	"closed from outside": {
		{sent, packets.SYN, "syn"}, {received, synAck, "syn_both"}, {sent, packets.ACK, "established"},
		{received, packets.FIN | packets.ACK, "fin_in"}, {sent, packets.ACK, "fin_in"},
		{sent, packets.FIN | packets.ACK, "fin_both"}, {received, packets.ACK, "fin_both"},
	},
	"closed by both at once": {
		{sent, packets.SYN, "syn"}, {received, synAck, "syn_both"}, {sent, packets.ACK, "established"},
		{sent, packets.FIN | packets.ACK, "fin_out"}, {received, packets.FIN | packets.ACK, "fin_both"},
		{sent, packets.ACK, "fin_both"}, {received, packets.ACK, "fin_both"},
	},
	"segments sent again": {
		{sent, packets.SYN, "syn"}, {sent, packets.SYN, "syn"}, {received, synAck, "syn_both"}, {received, synAck, "syn_both"},
		{sent, packets.ACK, "established"}, {received, synAck, "established"}, {sent, packets.ACK, "established"},
		{sent, packets.FIN | packets.ACK, "fin_out"}, {sent, packets.FIN | packets.ACK, "fin_out"},
	},
	"refused": {
		{sent, packets.SYN, "syn"}, {received, packets.RST | packets.ACK, "syn"}, // ends as what was never answered
	},
	"used again after its end": {
		{sent, packets.SYN, "syn"}, {received, synAck, "syn_both"}, {sent, packets.ACK, "established"},
		{sent, packets.FIN | packets.ACK, "fin_out"}, {received, packets.FIN | packets.ACK, "fin_both"},
		{sent, packets.SYN, "syn"}, {received, synAck, "syn_both"}, {sent, packets.ACK, "established"},
	},
	"used again by the other side": {
		{sent, packets.SYN, "syn"}, {received, synAck, "syn_both"}, {sent, packets.ACK, "established"},
		{sent, packets.FIN | packets.ACK, "fin_out"}, {received, packets.FIN | packets.ACK, "fin_both"},
		{received, packets.SYN, "syn_both"}, {sent, synAck, "syn_both"}, {received, packets.ACK, "established"},
	},
}

func TestRFC5382_REQ2_ValidSequences(t *testing.T) {
	t.Parallel()
	for name, steps := range conversations {
		t.Run(name, func(t *testing.T) { newGateway(t).converse(endpoint(outbound, 40000), steps) })
	}
}

func TestRFC5382_REQ2a_SimultaneousOpen(t *testing.T) {
	t.Parallel()
	newGateway(t).converse(endpoint(outbound, 40000), []step{
		{sent, packets.SYN, "syn"}, {received, packets.SYN, "syn_both"}, {sent, synAck, "syn_both"}, {received, synAck, "syn_both"},
		{sent, packets.ACK, "established"}, {received, packets.ACK, "established"},
	})
}

func TestRFC5382_REQ3_Filtering(t *testing.T) {
	t.Parallel()
	wantFiltered(t, model.AddressDependent, model.TCP, "forwarded", "forwarded", "drop_filtered")
}

func TestRFC5382_REQ3a_FilteringConfigurable(t *testing.T) {
	t.Parallel()
	wantFiltered(t, model.EndpointIndependent, model.TCP, "forwarded", "forwarded", "forwarded")
	wantFiltered(t, model.AddressAndPortDependent, model.TCP, "forwarded", "drop_filtered", "drop_filtered")
}

func TestRFC5382_REQ4_UnsolicitedSYNUnanswered(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.mapped(tcp(inA, web, packets.SYN))
	for range 3 {
		r := g.put(tcp(server2, out, packets.SYN))
		if r.action != dataplane.Drop {
			t.Fatalf("%v, %s: answered or passed on", r.action, r.reason)
		}
	}
	// Its own SYN may still come: a simultaneous open, then.
	g.mapped(tcp(inA, server2, packets.SYN))
	g.leaves(g.put(tcp(server2, out, packets.SYN)), tcp(server2, inA, packets.SYN))
}

func TestRFC5382_REQ4a_UnsolicitedSYNDropped(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.mapped(tcp(inA, web, packets.SYN))
	g.dropped(g.put(tcp(server2, out, packets.SYN)), "drop_filtered")
	g.dropped(g.put(tcp(server2, endpoint(outbound, 81), packets.SYN)), "drop_no_mapping")
	g.dropped(g.put(tcp(server2, endpoint(pool1, 80), packets.SYN)), "drop_no_binding")
	g.dropped(g.put(tcp(endpoint(remote, 81), out, synAck)), "drop_not_syn")
}

func TestRFC5382_REQ5_Timers(t *testing.T) {
	t.Parallel()
	g := newGateway(t, byDefault(t))
	g.mapped(tcp(inA, web, packets.SYN))
	g.idle(4*time.Minute - time.Second)
	same(g, "opening for 4 min", g.state(), "syn")
	out := g.connected(inA, web)
	g.idle(2*time.Hour + 4*time.Minute - time.Second)
	same(g, "idle for 2 h 4 min", g.state(), "established")
	g.converse(out, []step{{sent, packets.FIN | packets.ACK, "fin_out"}, {received, packets.FIN | packets.ACK, "fin_both"}})
	g.idle(4*time.Minute - time.Second)
	same(g, "closing for 4 min", g.state(), "fin_both")
}

func TestRFC5382_REQ5a_TimersConfigurable(t *testing.T) {
	t.Parallel()
	g := newGateway(t, timeouts(func(s *datapath.Settings) {
		s.Timeouts[model.TimeoutTCPEstablished], s.Timeouts[model.TimeoutTCPTransitory] = 30*time.Second, 10*time.Second
	}))
	g.mapped(tcp(inA, web, packets.SYN))
	g.idle(9 * time.Second)
	g.count(1)
	g.idle(2 * time.Second)
	g.count(0)
	g.connected(inA, web)
	g.idle(29 * time.Second)
	g.count(1)
	g.idle(2 * time.Second)
	g.count(0)
}

// RFC 7857 section 2.1: the time for opening is not the one for closing.
func TestRFC7857_S2_1_ClosingApart(t *testing.T) {
	t.Parallel()
	g := newGateway(t, timeouts(func(s *datapath.Settings) {
		s.Timeouts[model.TimeoutTCPTransitory], s.Timeouts[model.TimeoutTCPClosing] = 30*time.Second, 10*time.Second
	}))
	closings := map[string][]step{
		"two FINs": {{sent, packets.FIN | packets.ACK, "fin_out"}, {received, packets.FIN | packets.ACK, "fin_both"}},
		"an RST":   {{received, packets.RST | packets.ACK, "rst"}},
	}
	for name, steps := range closings {
		t.Log(name)
		g.converse(g.connected(inA, web), steps)
		g.idle(9 * time.Second)
		g.count(1)
		g.idle(2 * time.Second)
		g.count(0)
	}
	g.mapped(tcp(inA, web, packets.SYN))
	g.idle(29 * time.Second)
	g.count(1)
	g.idle(2 * time.Second)
	g.count(0)
}

func TestRFC5382_REQ6_PayloadUntouched(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	ftp := endpoint(remote, 21)
	out := g.connected(inA, ftp)
	command := "PORT 10,0,0,100,156,64\r\n"
	g.leaves(g.put(packets.NewTCP(inA, ftp, packets.PSH|packets.ACK, command)), packets.NewTCP(out, ftp, packets.PSH|packets.ACK, command))
}

func TestRFC5382_REQ7_NoPortOverloading(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	owner := map[netip.AddrPort]bool{}
	for n := range 200 {
		out := g.mapped(tcp(endpoint(host(n), 40000), web, packets.SYN))
		if owner[out] {
			t.Fatalf("%s stands for two hosts", out)
		}
		owner[out] = true
	}
}

func TestRFC5382_REQ8_Hairpin(t *testing.T) {
	t.Parallel()
	g := newGateway(t, filtering(model.EndpointIndependent))
	b := g.connected(inB, web)
	a := endpoint(outbound, 40000)
	g.leaves(g.put(tcp(inA, b, packets.SYN)), tcp(a, inB, packets.SYN))
	g.leaves(g.put(tcp(inB, a, synAck)), tcp(b, inA, synAck))
	g.leaves(g.put(tcp(inA, b, packets.ACK)), tcp(a, inB, packets.ACK))
	for _, s := range g.sessions() {
		same(g, s.String()+" is", s.State, "established")
	}
}

func TestRFC5382_REQ8a_HairpinExternalSource(t *testing.T) {
	t.Parallel()
	g := newGateway(t, filtering(model.EndpointIndependent))
	b := g.connected(inB, web)
	r := g.put(tcp(inA, b, packets.SYN))
	g.leaves(r, tcp(endpoint(outbound, 40000), inB, packets.SYN))
	same(g, "source", g.mapped(tcp(inA, web, packets.SYN)), r.packet.Tuple().Source)
}

func TestRFC5382_REQ9_DestinationUnreachable(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.mapped(tcp(endpoint(hostB, 40000), web, packets.SYN))
	out := g.mapped(tcp(inA, web, packets.SYN))
	for _, keep := range []int{8, -1} {
		g.leaves(g.put(unreachable(hop, 1, 0, tcp(out, web, packets.SYN), keep)),
			unreachable2(hop, hostA, 1, tcp(inA, web, packets.SYN), keep))
	}
}

func TestRFC5382_REQ10_ICMPKeepsSession(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.connected(inA, web)
	for code := range uint8(16) {
		g.forwarded(g.put(unreachable(remote, code, 1400, tcp(out, web, packets.ACK), 8)))
	}
	same(g, "state", g.state(), "established")
	g.leaves(g.put(tcp(web, out, packets.ACK)), tcp(web, inA, packets.ACK))
}
