package datapath

import (
	"encoding/json"
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

func TestRFC6888_REQ2_PairedByDefault(t *testing.T) {
	t.Parallel()
	g := newGateway(t, outboundAddresses(outbound, pool1.Next().Next()))
	for n := range 16 {
		address := g.mapped(udp(endpoint(host(n), 5000), server)).Addr()
		same(g, "address for TCP", g.mapped(tcp(endpoint(host(n), 5001), web, packets.SYN)).Addr(), address)
		same(g, "address for ICMP", g.mapped(echo(host(n), remote, 5002)).Addr(), address)
	}
}

func TestRFC6888_REQ3_ScatteredAddresses(t *testing.T) {
	t.Parallel()
	scattered := []netip.Addr{outbound, netip.MustParseAddr("192.0.2.77"), netip.MustParseAddr("100.64.3.3"), netip.MustParseAddr("198.51.100.255")}
	g := newGateway(t, outboundAddresses(scattered...))
	used := map[netip.Addr]bool{}
	for n := range 64 {
		from := endpoint(host(n), 5000)
		out := g.mapped(udp(from, server))
		used[out.Addr()] = true
		// There is no neighbour for these hosts: the kernel asks for them.
		if r := g.put(udp(server, out)); r.reason != "forwarded_no_neighbour" || r.packet.IPv4.Destination != from.Addr() {
			t.Fatalf("answer to %s: %s to %s", from, r.reason, r.packet.IPv4.Destination)
		}
	}
	for _, a := range scattered {
		if !used[a] {
			t.Errorf("%s is not used", a)
		}
	}
}

// One host takes no more than its ports, and leaves the others theirs.
func TestRFC6888_REQ4_PortLimit(t *testing.T) {
	t.Parallel()
	const most = 100
	g := newGateway(t, limited(func(l *datapath.Limits) { l.HostPorts = datapath.ProtocolLimits{UDP: most, TCP: most, ICMP: most} }))
	for n := range uint16(most) {
		g.mapped(udp(endpoint(hostA, 2000+n), server))
	}
	g.unreachable(udp(endpoint(hostA, 3000), server), "drop_host_ports")
	g.mapped(udp(inB, server))
}

func TestRFC6888_REQ4a_LimitConfigurable(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	for _, most := range []int{1, 3, 2, 0} {
		g.settings.Limits.HostPorts.UDP = most
		g.in(func() error { _, err := g.data.SetPolicy(g.settings, g.services, nil); return err })
		for used := g.subscriber(hostA).UDP; used < most; used++ {
			g.mapped(udp(endpoint(hostA, uint16(2000+used)), server))
		}
		if p := udp(endpoint(hostA, 3000), server); most > 0 {
			g.unreachable(p, "drop_host_ports")
		} else {
			g.mapped(p)
		}
	}
}

func TestRFC6888_REQ4b_EachProtocol(t *testing.T) {
	t.Parallel()
	g := newGateway(t, limited(func(l *datapath.Limits) { l.HostPorts = datapath.ProtocolLimits{UDP: 1, TCP: 2} }))
	g.mapped(udp(inA, server))
	g.unreachable(udp(endpoint(hostA, 3000), server), "drop_host_ports")
	g.mapped(tcp(inA, web, packets.SYN))
	g.mapped(tcp(endpoint(hostA, 3000), web, packets.SYN))
	g.unreachable(tcp(endpoint(hostA, 3001), web, packets.SYN), "drop_host_ports")
	for n := range uint16(10) {
		g.mapped(echo(hostA, remote, 3000+n))
	}
}

func TestRFC6888_REQ4c_Rate(t *testing.T) { TestLimitHostRate(t) }

// What a host takes of memory, by sessions through one mapping or many.
func TestRFC6888_REQ5_Memory(t *testing.T) { TestLimitHostSessions(t) }

func TestRFC6888_REQ8_PortQuarantine(t *testing.T) {
	t.Parallel()
	g := newGateway(t, filtering(model.EndpointIndependent))
	b := endpoint(hostB, inA.Port())
	for _, make := range []func(netip.AddrPort) packets.Packet{
		func(from netip.AddrPort) packets.Packet { return udp(from, server) },
		func(from netip.AddrPort) packets.Packet { return echo(from.Addr(), remote, from.Port()) },
	} {
		out := g.mapped(make(inA))
		g.idle(301 * time.Second)
		g.count(0)
		g.dropped(g.put(answer(make(out))), "drop_no_mapping")
		if other := g.mapped(make(b)); other == out {
			t.Fatal("another host got the port at once")
		}
		same(g, "the same endpoint's port", g.mapped(make(inA)), out)
		g.idle(301 * time.Second) // both rest now
		g.idle(119 * time.Second)
		if other := g.mapped(make(b)); other == out {
			t.Fatal("another host got the port before 120 s")
		}
		g.idle(301 * time.Second)
		g.idle(121 * time.Second)
		same(g, "another host's port after it", g.mapped(make(b)), out)
	}
}

func TestRFC6888_REQ8a_TCPAtOnce(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.mapped(tcp(inA, web, packets.SYN))
	g.idle(241 * time.Second)
	g.count(0)
	same(g, "another host's port", g.mapped(tcp(endpoint(hostB, inA.Port()), web, packets.SYN)), out)
}

// Where filtering depends on the peer a port is another host's at once, and who spoke to the first does not reach the second.
func TestRFC6888_REQ8c_AtOnceWhereFiltered(t *testing.T) {
	t.Parallel()
	for _, f := range []model.Filtering{model.AddressDependent, model.AddressAndPortDependent} {
		g := newGateway(t, filtering(f))
		b := endpoint(hostB, inA.Port())
		out := g.mapped(udp(inA, server))
		identifier := g.mapped(echo(hostA, remote, inA.Port()))
		g.idle(301 * time.Second)
		g.count(0)
		same(g, "another host's port", g.mapped(udp(b, server2)), out)
		same(g, "another host's identifier", g.mapped(echo(hostB, server2.Addr(), inA.Port())), identifier)
		g.dropped(g.put(udp(server, out)), "drop_filtered")
		g.leaves(g.put(udp(server2, out)), udp(server2, b))
	}
}

// A reload with another filtering ends the rest of ports.
func TestQuarantineEndsWithItsFiltering(t *testing.T) {
	t.Parallel()
	g := newGateway(t, filtering(model.EndpointIndependent))
	out := g.mapped(udp(inA, server))
	g.idle(301 * time.Second)
	g.settings.Filtering = model.AddressDependent
	g.in(func() error { _, err := g.data.SetPolicy(g.settings, g.services, nil); return err })
	g.idle(time.Second)
	same(g, "another host's port", g.mapped(udp(endpoint(hostB, inA.Port()), server)), out)
}

func TestRFC6888_REQ10_Manageable(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.mapped(udp(inA, server))
	var listed struct{ Protocol, Private, External, Remote, State string }
	check(t, json.Unmarshal(must(json.Marshal(g.sessions()[0]))(t), &listed))
	same(g, "session", listed, struct{ Protocol, Private, External, Remote, State string }{"udp", inA.String(), out.String(), server.String(), "open"})
	usage := must(g.data.Usage())(t)
	same(g, "sessions", usage.Sessions, 1)
	same(g, "mappings", usage.Mappings, 1)
	same(g, "capacity", usage.Capacity, 4096)
	same(g, "packets forwarded", g.counters()["forwarded"], 1)
}

// exhausted returns a gateway whose every session is taken, by inA among
// others, and a packet that would need one more.
func exhausted(t *testing.T) (*gateway, packets.Packet) {
	t.Helper()
	g := newGateway(t, capacity(model.MinCapacity))
	g.mapped(udp(inA, server))
	for port := range uint16(model.MinCapacity - 1) {
		g.mapped(udp(endpoint(hostB, 1024+port), server))
	}
	return g, udp(endpoint(hostB, 60000), server)
}

func TestRFC6888_REQ11_Exhausted(t *testing.T) {
	t.Parallel()
	g, p := exhausted(t)
	r := g.put(p)
	g.refused(r, p, "drop_session_table_full", privateAddress, packets.DestinationUnreachable, 1, 0)
	g.idle(301 * time.Second)
	g.idle(2 * time.Second) // the records have rested
	g.leaves(g.put(p), udp(endpoint(outbound, 60000), server))
}

func TestRFC6888_REQ11a_Dropped(t *testing.T) {
	t.Parallel()
	g, p := exhausted(t)
	before := g.counters()
	for range 3 {
		g.put(p)
	}
	after := g.counters()
	same(g, "drops", after["drop_session_table_full"]-before["drop_session_table_full"], 3)
	same(g, "forwarded", after["forwarded"], before["forwarded"])
	g.lend(pool1, 80, endpoint(hostA, 8080), nil)
	g.dropped(g.put(tcp(endpoint(remote, 50000), endpoint(pool1, 80), packets.SYN)), "drop_session_table_full")
	same(g, "mappings left behind", must(g.data.Usage())(t).Sessions, model.MinCapacity)
}

func TestRFC6888_REQ11b_HostUnreachable(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	for n := range 1023 { // every port below 1024
		g.mapped(udp(endpoint(host(n), 500), server))
	}
	p := udp(endpoint(hostA, 500), server)
	g.refused(g.put(p), p, "drop_no_port", privateAddress, packets.DestinationUnreachable, 1, 0)
	g.mapped(udp(inA, server)) // the other class has ports
}

func TestRFC6888_REQ11c_Noticed(t *testing.T) {
	t.Parallel()
	g, p := exhausted(t)
	drops := g.drops()
	g.put(p)
	drop := <-drops
	same(g, "reason", drop.Reason, "drop_session_table_full")
	same(g, "tuple", drop.Tuple, p.Tuple())
	same(g, "side", drop.Side, "private")
	usage := must(g.data.Usage())(t)
	same(g, "sessions in use", usage.Sessions, usage.Capacity)
}

func TestRFC6888_REQ11d_NothingEvicted(t *testing.T) {
	t.Parallel()
	g, p := exhausted(t)
	for range 100 {
		g.put(p)
	}
	g.count(model.MinCapacity)
	g.leaves(g.put(udp(server, endpoint(outbound, inA.Port()))), udp(server, inA))
	for port := range uint16(model.MinCapacity - 1) {
		g.leaves(g.put(udp(endpoint(hostB, 1024+port), server)), udp(endpoint(outbound, 1024+port), server))
	}
}
