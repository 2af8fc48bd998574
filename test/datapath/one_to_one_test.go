package datapath

import (
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// The public addresses that hostA and hostB have alone.
var (
	alone  = netip.MustParseAddr("198.18.0.7")
	alone2 = netip.MustParseAddr("198.18.0.8")
)

// oneToOne puts hosts with a public address alone into force.
func (g *gateway) oneToOne(own map[netip.Addr]netip.Addr) {
	g.t.Helper()
	g.settings.Own = own
	g.in(func() error {
		return g.data.SetAddresses([]netip.Addr{pool1, pool2}, nil, slices.Collect(maps.Values(own))...)
	})
	g.policy(g.services...)
}

func newOneToOne(t *testing.T, options ...option) *gateway {
	t.Helper()
	g := newGateway(t, options...)
	g.oneToOne(map[netip.Addr]netip.Addr{hostA: alone})
	return g
}

// The host's own flows leave by its address, with their port, whoever else has that port.
func TestOneToOneOut(t *testing.T) {
	t.Parallel()
	g := newOneToOne(t)
	g.mapped(udp(endpoint(hostB, inA.Port()), server))
	out := endpoint(alone, inA.Port())
	g.leaves(g.put(udp(inA, server)), udp(out, server))
	g.leaves(g.put(udp(server, out)), udp(server, inA))
	g.leaves(g.put(tcp(inA, web, packets.SYN)), tcp(out, web, packets.SYN))
	g.leaves(g.put(tcp(web, out, packets.SYN|packets.ACK)), tcp(web, inA, packets.SYN|packets.ACK))
	g.leaves(g.put(echo(hostA, remote, 7)), echo(alone, remote, 7))
	g.leaves(g.put(echoReply(remote, alone, 7)), echoReply(remote, hostA, 7))
	same(g, "what the host has", g.subscriber(hostA), datapath.Subscriber{Sessions: 3})
	for _, s := range g.sessions() {
		if s.Private.Addr() == hostA && s.Origin != "own" {
			t.Errorf("%s is of origin %s", s, s.Origin)
		}
	}
	same(g, "mappings, the other host's", g.census().Mappings, 1)
}

// From outside every port of the address comes to the host.
func TestOneToOneIn(t *testing.T) {
	t.Parallel()
	g := newOneToOne(t)
	for _, port := range []uint16{1, 22, 80, 40000, 65535} {
		from, to, host := endpoint(remote, 50000), endpoint(alone, port), endpoint(hostA, port)
		g.leaves(g.put(udp(from, to)), udp(from, host))
		g.leaves(g.put(udp(host, from)), udp(to, from))
		g.leaves(g.put(tcp(from, to, packets.SYN)), tcp(from, host, packets.SYN))
		g.leaves(g.put(tcp(host, from, packets.SYN|packets.ACK)), tcp(to, from, packets.SYN|packets.ACK))
		g.leaves(g.put(tcp(from, to, packets.ACK)), tcp(from, host, packets.ACK))
	}
	g.leaves(g.put(echo(remote, alone, 7)), echo(remote, hostA, 7))
	g.leaves(g.put(echoReply(hostA, remote, 7)), echoReply(alone, remote, 7))
	for _, s := range g.sessions() {
		same(g, "origin", s.Origin, "own_in")
	}
	same(g, "sessions of the remote address", must(g.data.Remotes())(t)[remote], 11)
	// Only what may begin a flow does.
	g.dropped(g.put(tcp(endpoint(remote, 50001), endpoint(alone, 22), packets.ACK)), "drop_not_syn")
	g.dropped(g.put(echoReply(remote, alone, 9)), "drop_no_session")
	g.census()
	g.idle(5 * time.Hour)
	g.idle(time.Minute)
	census := g.census()
	same(g, "sessions", census.Sessions+census.Resting, 0)
	same(g, "remote addresses that count", census.Remotes, 0)
}

// A closed connection's tuple is a new one's again, from either side; an open one is never taken over.
func TestOneToOneAgain(t *testing.T) {
	t.Parallel()
	g := newOneToOne(t)
	from, to, host := endpoint(remote, 50000), endpoint(alone, 80), endpoint(hostA, 80)
	open := func() {
		t.Helper()
		g.leaves(g.put(tcp(from, to, packets.SYN)), tcp(from, host, packets.SYN))
		g.leaves(g.put(tcp(host, from, packets.SYN|packets.ACK)), tcp(to, from, packets.SYN|packets.ACK))
		g.leaves(g.put(tcp(from, to, packets.ACK)), tcp(from, host, packets.ACK))
	}
	open()
	same(g, "state", g.state(), "established")
	g.leaves(g.put(tcp(from, to, packets.SYN)), tcp(from, host, packets.SYN))
	same(g, "state", g.state(), "established")
	g.leaves(g.put(tcp(from, to, packets.FIN|packets.ACK)), tcp(from, host, packets.FIN|packets.ACK))
	g.leaves(g.put(tcp(host, from, packets.FIN|packets.ACK)), tcp(to, from, packets.FIN|packets.ACK))
	same(g, "state", g.state(), "fin_both")
	open()
	same(g, "state", g.state(), "established")
	g.census()
}

func TestOneToOneLimits(t *testing.T) {
	t.Parallel()
	g := newOneToOne(t, limited(func(l *datapath.Limits) { l.HostSessions = 1; l.RemoteSessions = 1 }))
	g.leaves(g.put(udp(inA, server)), udp(endpoint(alone, inA.Port()), server))
	g.unreachable(udp(inA, server2), "drop_host_sessions")
	g.leaves(g.put(udp(client, endpoint(alone, 9))), udp(client, endpoint(hostA, 9)))
	g.leaves(g.put(udp(endpoint(hostA, 9), client)), udp(endpoint(alone, 9), client))
	g.dropped(g.put(udp(client, endpoint(alone, 10))), "drop_remote_sessions")
}

func TestOneToOneBans(t *testing.T) {
	t.Parallel()
	g := newOneToOne(t)
	g.leaves(g.put(udp(client, endpoint(alone, 9))), udp(client, endpoint(hostA, 9)))
	check(t, g.data.PutBans(map[netip.Prefix]time.Time{netip.PrefixFrom(remote, 32): time.Now().Add(time.Hour)}))
	g.dropped(g.put(udp(client, endpoint(alone, 10))), "drop_banned")
}

func TestOneToOneICMPErrors(t *testing.T) {
	t.Parallel()
	g := newOneToOne(t)
	out := endpoint(alone, inA.Port())
	g.put(udp(inA, server))
	g.put(udp(client, endpoint(alone, 9)))
	for _, keep := range []int{8, -1} {
		g.leaves(g.put(packets.NewICMPError(hop, alone, packets.DestinationUnreachable, 1, 0, udp(out, server), keep)),
			packets.NewICMPError(hop, hostA, packets.DestinationUnreachable, 1, 0, udp(inA, server), keep))
		g.leaves(g.put(packets.NewICMPError(hostA, remote, packets.DestinationUnreachable, 3, 0, udp(client, endpoint(hostA, 9)), keep)),
			packets.NewICMPError(alone, remote, packets.DestinationUnreachable, 3, 0, udp(client, endpoint(alone, 9)), keep))
	}
	g.dropped(g.put(packets.NewICMPError(hop, alone, packets.DestinationUnreachable, 1, 0, udp(endpoint(alone, 1), server), 8)), "drop_no_session")
}

// Hosts inside reach it by the public address; and it reaches others by theirs.
func TestOneToOneHairpin(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.oneToOne(map[netip.Addr]netip.Addr{hostA: alone, hostB: alone2})
	g.leaves(g.put(udp(inA, endpoint(alone2, 9))), udp(endpoint(alone, inA.Port()), endpoint(hostB, 9)))
	g.leaves(g.put(udp(endpoint(hostB, 9), endpoint(alone, inA.Port()))), udp(endpoint(alone2, 9), inA))
	g.oneToOne(map[netip.Addr]netip.Addr{hostA: alone})
	third := endpoint(hostB, 4000)
	g.leaves(g.put(udp(third, endpoint(alone, 9))), udp(endpoint(outbound, 4000), endpoint(hostA, 9)))
	g.leaves(g.put(udp(endpoint(hostA, 9), endpoint(outbound, 4000))), udp(endpoint(alone, 9), third))
	g.census()
}

// The address is answered for, and nobody outside has it.
func TestOneToOneAddress(t *testing.T) {
	t.Parallel()
	g := newOneToOne(t)
	same(g, "ARP", g.send(true, packets.NewARPRequest(packets.RouterMAC, router, alone).Bytes()).reason, "answered_arp")
	g.dropped(g.put(udp(endpoint(alone, 5), endpoint(alone, 9))), "drop_spoofed_source")
	if !g.leaving(publicAddress)[publicAddress] {
		t.Error("nothing leaves")
	}
	g.oneToOne(nil)
	g.dropped(g.put(udp(client, endpoint(alone, 9))), "drop_not_for_us")
}

// A host that gets an address, loses it, or hands it on: no session reaches another host than its own.
func TestOneToOneByReload(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	mapped := endpoint(outbound, inA.Port())
	g.leaves(g.put(udp(inA, server)), udp(mapped, server))
	g.oneToOne(map[netip.Addr]netip.Addr{hostA: alone})
	g.leaves(g.put(udp(inA, server)), udp(mapped, server)) // what is open goes on as it was
	g.leaves(g.put(udp(server, mapped)), udp(server, inA))
	g.leaves(g.put(udp(inA, server2)), udp(endpoint(alone, inA.Port()), server2))
	g.leaves(g.put(udp(client, endpoint(alone, 9))), udp(client, endpoint(hostA, 9)))

	g.oneToOne(map[netip.Addr]netip.Addr{hostA: alone2, hostB: alone})
	p := udp(inA, server2)
	g.refused(g.put(p), p, "drop_service_closed", privateAddress, packets.DestinationUnreachable, 13, 0)
	g.refused(g.put(udp(endpoint(hostA, 9), client)), udp(endpoint(hostA, 9), client), "drop_service_closed", privateAddress, packets.DestinationUnreachable, 13, 0)
	g.leaves(g.put(udp(client, endpoint(alone, 9))), udp(client, endpoint(hostB, 9))) // a new flow, to whom the address is now
	g.leaves(g.put(udp(server2, endpoint(alone, inA.Port()))), udp(server2, endpoint(hostB, inA.Port())))
	g.sweep()
	g.count(3)
	g.leaves(g.put(udp(inA, server2)), udp(endpoint(alone2, inA.Port()), server2))

	g.oneToOne(nil)
	p = udp(inA, server2)
	g.refused(g.put(p), p, "drop_service_closed", privateAddress, packets.DestinationUnreachable, 13, 0)
	g.sweep()
	g.leaves(g.put(udp(inA, server2)), udp(mapped, server2))
	g.census()
}

// Towards destinations without NAT such a host keeps its private address, as all others.
func TestOneToOneExcepted(t *testing.T) {
	t.Parallel()
	g := newOneToOne(t, except(farSite), filtering(model.AddressAndPortDependent))
	g.untranslated(udp(inA, far), udp(far, inA))
	g.leaves(g.put(udp(far, endpoint(alone, 9))), udp(far, endpoint(hostA, 9)))
}

// The next daemon finds what stands.
func TestOneToOneAdopted(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.oneToOne(map[netip.Addr]netip.Addr{hostA: alone})
	out := endpoint(alone, inA.Port())
	g.leaves(g.put(udp(inA, server)), udp(out, server))
	g.reopen()
	g.leaves(g.put(udp(server, out)), udp(server, inA))
	g.leaves(g.put(udp(client, endpoint(alone, 9))), udp(client, endpoint(hostA, 9)))
}
