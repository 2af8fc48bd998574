package datapath

import (
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

var opened = []step{{sent, packets.SYN, "syn"}, {received, synAck, "syn_both"}, {sent, packets.ACK, "established"}}

func TestRFC7857_S2_StateMachine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		steps   []step
		timeout time.Duration // from the last segment
	}{
		"opening":              {opened[:1], 240 * time.Second},
		"opened by both":       {opened[:2], 240 * time.Second},
		"established":          {opened, 7440 * time.Second},
		"closed by the inside": {append(opened[:3:3], step{sent, packets.FIN | packets.ACK, "fin_out"}), 7440 * time.Second},
		"closed by the peer":   {append(opened[:3:3], step{received, packets.FIN | packets.ACK, "fin_in"}), 7440 * time.Second},
		"closed by both": {append(opened[:3:3], step{received, packets.FIN | packets.ACK, "fin_in"},
			step{sent, packets.FIN | packets.ACK, "fin_both"}), 240 * time.Second},
		"reset by the inside": {append(opened[:3:3], step{sent, packets.RST, "rst"}), 240 * time.Second},
		"reset by the peer":   {append(opened[:3:3], step{received, packets.RST, "rst"}), 240 * time.Second},
		"revived":             {append(opened[:3:3], step{received, packets.RST, "rst"}, step{sent, packets.ACK, "established"}), 7440 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t)
			g.converse(endpoint(outbound, 40000), c.steps)
			g.idle(c.timeout - 2*time.Second)
			g.count(1)
			g.idle(4 * time.Second)
			g.count(0)
		})
	}
}

func TestRFC7857_S2_ResetLingers(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.connected(inA, web)
	g.idle(time.Hour)
	g.converse(out, []step{{received, packets.RST, "rst"}})
	g.idle(239 * time.Second)
	same(g, "state 239 s later", g.state(), "rst")
	// A blind reset ends nothing: traffic behind it goes on.
	g.converse(out, []step{{sent, packets.PSH | packets.ACK, "established"}})
	g.idle(time.Hour)
	g.converse(out, []step{{received, packets.ACK, "established"}, {sent, packets.RST | packets.ACK, "rst"}})
	g.idle(241 * time.Second)
	g.count(0)
}

func TestRFC7857_S4_PairedAcrossProtocols(t *testing.T) {
	t.Parallel()
	g := newGateway(t, outboundAddresses(outbound, pool1.Next().Next(), pool1.Next().Next().Next()))
	for n := range 16 {
		address := g.mapped(echo(host(n), remote, 1)).Addr()
		same(g, "address for UDP", g.mapped(udp(endpoint(host(n), 1), server)).Addr(), address)
		same(g, "address for TCP", g.mapped(tcp(endpoint(host(n), 1), web, packets.SYN)).Addr(), address)
	}
}

func TestRFC7857_S5_MappingPerProtocol(t *testing.T) {
	t.Parallel()
	g := newGateway(t, filtering(model.EndpointIndependent))
	out := g.mapped(udp(inA, server))
	g.dropped(g.put(tcp(server, out, packets.SYN)), "drop_no_mapping")
	g.mapped(tcp(endpoint(hostB, inA.Port()), server, packets.SYN)) // takes the port for TCP
	if tout := g.mapped(tcp(inA, server, packets.SYN)); tout == out {
		t.Fatal("two hosts share a port for TCP")
	}
	same(g, "the mapping for UDP", g.mapped(udp(inA, server2)), out)
}

func TestRFC7857_S6_FilteringPerProtocol(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.mapped(udp(inA, server))
	same(g, "outside endpoint for TCP", g.mapped(tcp(inA, server2, packets.SYN)), out)
	g.dropped(g.put(udp(server2, out)), "drop_filtered")             // asked for by TCP alone
	g.dropped(g.put(tcp(server, out, packets.SYN)), "drop_filtered") // asked for by UDP alone
}

func TestRFC7857_S7_InboundRefresh(t *testing.T) {
	t.Parallel()
	g := newGateway(t, filtering(model.EndpointIndependent))
	out := g.mapped(udp(inA, server))
	for range 3 { // a session that came from outside keeps the mapping
		g.idle(200 * time.Second)
		g.leaves(g.put(udp(server2, out)), udp(server2, inA))
	}
	g.count(1)
	g.leaves(g.put(udp(server, out)), udp(server, inA))

	g = newGateway(t)
	out = g.mapped(udp(inA, server))
	for range 3 { // what is filtered does not
		g.dropped(g.put(udp(server2, out)), "drop_filtered")
		g.idle(101 * time.Second)
	}
	g.count(0)
}

func TestRFC7857_S7_ErrorsAndResetsRefreshNothing(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.connected(inA, web)
	g.idle(7000 * time.Second)
	g.forwarded(g.put(unreachable(hostA, portUnreachable, 0, tcp(web, inA, packets.ACK), 8)))
	g.idle(442 * time.Second)
	g.count(0)

	same(g, "outside endpoint", g.connected(inA, web), out)
	g.converse(out, []step{{sent, packets.RST, "rst"}})
	g.idle(200 * time.Second)
	g.converse(out, []step{{sent, packets.RST, "rst"}})
	g.idle(42 * time.Second) // 242 s after the first
	g.count(0)
}

func TestRFC7857_S11_QueryMappingEnds(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.put(echo(hostA, remote, 77))
	g.put(echo(hostA, remote2, 77))
	g.idle(40 * time.Second)
	g.put(echo(hostA, remote2, 77))
	g.idle(21 * time.Second)
	g.count(1) // of two
	g.leaves(g.put(echoReply(remote2, outbound, 77)), echoReply(remote2, hostA, 77))
	g.idle(61 * time.Second)
	g.count(0)
	g.dropped(g.put(echoReply(remote2, outbound, 77)), "drop_no_mapping")
	g.idle(121 * time.Second)
	same(g, "mappings", must(g.data.Usage())(t).Mappings, 0)
}

// A host inside is asked by the address that was lent for its name.
func TestRFC7857_S12_HairpinICMP(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.lend(pool1, 0, endpoint(hostB, 0), nil)
	g.leaves(g.put(echo(hostA, pool1, 77)), echo(outbound, hostB, 77))
	g.leaves(g.put(echoReply(hostB, outbound, 77)), echoReply(pool1, hostA, 77))
	g.leaves(g.put(unreachable(hostB, 1, 0, echo(outbound, hostB, 77), -1)), unreachable2(pool1, hostA, 1, echo(hostA, pool1, 77), -1))
	g.count(2)
}
