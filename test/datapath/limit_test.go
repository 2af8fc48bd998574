package datapath

import (
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// limited has limits that a test reaches soon.
func limited(change func(*datapath.Limits)) option {
	return timeouts(func(s *datapath.Settings) { change(&s.Limits) })
}

// unreachable wants the packet dropped and its sender told that the host is unreachable, as RFC 6888 REQ-11b has it.
func (g *gateway) unreachable(p packets.Packet, reason model.Reason) {
	g.t.Helper()
	g.refused(g.put(p), p, reason, privateAddress, packets.DestinationUnreachable, 1, 0)
}

func (g *gateway) subscriber(host netip.Addr) datapath.Subscriber {
	g.t.Helper()
	g.census() // checks the counts
	return must(g.data.Subscribers())(g.t)[host]
}

// A host that has all the sessions it may gets no more, and others get theirs; closed ones count until their records end.
func TestLimitHostSessions(t *testing.T) {
	t.Parallel()
	const most = 100
	g := newGateway(t, filtering(model.EndpointIndependent), limited(func(l *datapath.Limits) { l.HostSessions = most }))
	for n := range uint16(most) {
		g.mapped(udp(inA, endpoint(remote, 1000+n)))
	}
	g.unreachable(udp(inA, server), "drop_host_sessions")
	g.unreachable(tcp(inA, web, packets.SYN), "drop_host_sessions")
	g.leaves(g.put(udp(endpoint(remote, 1000), endpoint(outbound, inA.Port()))), udp(endpoint(remote, 1000), inA))
	g.mapped(udp(inB, server))
	same(g, "counts", g.subscriber(hostA), datapath.Subscriber{Sessions: most, UDP: 1})
	same(g, "counts of the other", g.subscriber(hostB), datapath.Subscriber{Sessions: 1, UDP: 1})
	g.idle(301 * time.Second)
	same(g, "counts behind them", g.subscriber(hostA), datapath.Subscriber{UDP: 1}) // its port rests
	g.idle(121 * time.Second)
	same(g, "counts at last", g.subscriber(hostA), datapath.Subscriber{})
	g.mapped(udp(inA, server))
}

// What comes in through a host's mapping is not the host's to answer for.
func TestLimitHostSessionsAreItsOwn(t *testing.T) {
	t.Parallel()
	g := newGateway(t, filtering(model.EndpointIndependent), limited(func(l *datapath.Limits) { l.HostSessions = 2 }))
	out := g.mapped(udp(inA, server))
	for n := range uint16(10) {
		p := udp(endpoint(remote2, 2000+n), out)
		g.leaves(g.put(p), udp(endpoint(remote2, 2000+n), inA))
	}
	g.mapped(udp(inA, server2))
	g.unreachable(udp(inA, endpoint(remote2, 1)), "drop_host_sessions")
	same(g, "counts", g.subscriber(hostA), datapath.Subscriber{Sessions: 2, UDP: 1})
}

// A host's ports are limited for each protocol apart (RFC 6888 REQ-4, 4b); those that rest are still its own.
func TestLimitHostPorts(t *testing.T) {
	t.Parallel()
	g := newGateway(t, filtering(model.EndpointIndependent), limited(func(l *datapath.Limits) { l.HostPorts = datapath.ProtocolLimits{UDP: 10, TCP: 5, ICMP: 3} }))
	for _, c := range []struct {
		most   uint16
		packet func(port uint16) packets.Packet
	}{
		{10, func(port uint16) packets.Packet { return udp(endpoint(hostA, port), server) }},
		{5, func(port uint16) packets.Packet { return tcp(endpoint(hostA, port), web, packets.SYN) }},
		{3, func(port uint16) packets.Packet { return echo(hostA, remote, port) }},
	} {
		for n := range c.most {
			g.mapped(c.packet(2000 + n))
		}
		g.unreachable(c.packet(3000), "drop_host_ports")
		g.mapped(c.packet(2000)) // a port that it has
	}
	g.mapped(udp(endpoint(hostA, 2000), server2))
	g.mapped(udp(inB, server))
	same(g, "counts", g.subscriber(hostA), datapath.Subscriber{Sessions: 19, UDP: 10, TCP: 5, ICMP: 3})
	g.idle(301 * time.Second)
	g.unreachable(udp(endpoint(hostA, 3000), server), "drop_host_ports")
	g.mapped(tcp(endpoint(hostA, 3000), web, packets.SYN)) // those of TCP do not rest
	g.idle(121 * time.Second)
	g.mapped(udp(endpoint(hostA, 3000), server))
}

// Of the sessions of a second only so many are opened (RFC 6888 REQ-4c), those of mappings that it has among them.
func TestLimitHostRate(t *testing.T) {
	t.Parallel()
	const most = 10 // which a busy machine, too, comes to in a second
	g := newGateway(t, limited(func(l *datapath.Limits) { l.HostRate = most }))
	opened, refused := 0, 0
	for port := uint16(1); opened <= most || refused == 0; port++ { // until a second has passed, and some of it was left
		if opened > 100*most {
			t.Fatal("none was refused")
		}
		p := udp(inA, endpoint(remote, port))
		switch r := g.put(p); r.reason {
		case "forwarded":
			opened++
		case "drop_host_rate":
			if refused++; refused == 1 {
				g.refused(r, p, "drop_host_rate", privateAddress, packets.DestinationUnreachable, 1, 0)
				g.mapped(udp(inB, server)) // others are not meant
			}
			time.Sleep(time.Millisecond)
		default:
			t.Fatal(r.reason)
		}
		if refused > 10_000 {
			t.Fatalf("%d opened, then none for ten seconds", opened)
		}
	}
	g.census()
}

// What fails behind the count takes it back.
func TestLimitCountsNothingThatFails(t *testing.T) {
	t.Parallel()
	g, p := exhausted(t)
	g.unreachable(p, "drop_session_table_full")
	g.unreachable(udp(endpoint(hostA, 60000), server), "drop_session_table_full")
	same(g, "counts", g.subscriber(hostA), datapath.Subscriber{Sessions: 1, UDP: 1})
	few := newGateway(t)
	for n := range 1023 {
		few.mapped(udp(endpoint(host(n), 500), server))
	}
	few.unreachable(udp(endpoint(hostA, 500), server), "drop_no_port")
	same(few, "counts", few.subscriber(hostA), datapath.Subscriber{})
}

// Hosts beyond the table's size go on without limits of their own, and are counted nowhere.
func TestLimitSubscribersFull(t *testing.T) {
	t.Parallel()
	g := newGateway(t, func(s *setup) { s.Subscribers, s.Limits.HostSessions = 8, 1 })
	for n := range 100 {
		g.put(udp(endpoint(host(n), 5000), server))
		g.put(udp(endpoint(host(n), 5000), server2))
	}
	full := must(g.data.Usage())(t).SubscribersFull
	if counters := g.counters(); counters["drop_host_sessions"] != 8 || full != 2*92 {
		t.Errorf("%d refused and %d not counted", counters["drop_host_sessions"], full)
	}
	same(g, "hosts", g.census().Subscribers, 8)
	g.idle(301 * time.Second)
	g.idle(121 * time.Second)
	same(g, "hosts at last", g.census().Subscribers, 0)
}
