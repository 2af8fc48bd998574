package datapath

import (
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/test/dataplane"
)

// Who has proved itself comes again without a claim, to all ports of the service.
func TestKnownClientReturns(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	b := g.bind(pool1, hostA, tcpPort(80, 8080), model.Port{Protocol: model.UDP, Port: 443, To: 8081})
	g.reserve(b, nil)
	g.visits(client)
	for n := range uint16(5) {
		g.visits(endpoint(remote, 50001+n))
	}
	g.leaves(g.put(udp(client, endpoint(pool1, 443))), udp(client, endpoint(hostA, 8081)))
	g.dropped(g.put(syn(client2)), "drop_no_reservation")
	for protocol, want := range map[model.Protocol]int{model.TCP: 6, model.UDP: 1} {
		sessions, known, err := dataplane.KnownTo(g.data, b.ID, remote, protocol)
		if err != nil || !known || sessions != want {
			t.Fatalf("%d sessions of %s, want %d, known %v: %v", sessions, protocol, want, known, err)
		}
	}
	g.sound()
}

// A SYN alone is no session of the client's: anybody could have sent it.
func TestKnownClientIsTentative(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	b := g.bind(pool1, hostA, tcpPort(80, 8080))
	g.reserve(b, nil)
	g.visits(client)
	again := endpoint(remote, 50001)
	g.knocks(again)
	g.answers(again, lent, service)
	g.dropped(g.put(segment(again, lent, packets.ACK, clientISN+1, 77)), "drop_claim_unproved")
	sessions, _, _ := dataplane.KnownTo(g.data, b.ID, remote, model.TCP)
	same(g, "sessions", sessions, 1)
	g.leaves(g.put(proof(again, lent)), proof(again, service))
	sessions, _, _ = dataplane.KnownTo(g.data, b.ID, remote, model.TCP)
	same(g, "sessions", sessions, 2)
}

// A client is known for 5 minutes behind the last of its sessions.
func TestKnownClientIsForgotten(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	b := g.bind(pool1, hostA, tcpPort(80, 8080))
	g.reserve(b, nil)
	g.visits(client)
	g.idle(600 * time.Second) // as long as one stands
	g.visits(endpoint(remote, 50001))
	for _, port := range []uint16{50000, 50001} {
		g.forwarded(g.put(tcp(endpoint(remote, port), lent, packets.RST)))
	}
	g.idle(298 * time.Second)
	g.visits(endpoint(remote, 50002))
	g.forwarded(g.put(tcp(endpoint(remote, 50002), lent, packets.RST)))
	g.idle(302 * time.Second)
	g.dropped(g.put(syn(endpoint(remote, 50003))), "drop_no_reservation")
	if _, known, _ := dataplane.KnownTo(g.data, b.ID, remote, model.TCP); known {
		t.Error("still known")
	}
	g.sound()
}

// A client is judged anew whenever it comes.
func TestKnownClientIsJudged(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.lend(pool1, 80, service, nil)
	g.visits(client)
	check(t, g.data.PutBans(map[netip.Prefix]time.Time{netip.PrefixFrom(remote, 32): datapath.Forever}))
	g.dropped(g.put(syn(endpoint(remote, 50001))), "drop_banned")
}

// The limit is of one client with one binding, and what has ended does not count.
func TestLimitOfAClient(t *testing.T) {
	t.Parallel()
	const most = 4
	g := newGateway(t, timeouts(func(s *datapath.Settings) { s.ClientSessions = most }))
	all := g.bind(pool1, hostA, everything)
	other := g.bind(pool2, hostB, everything)
	g.reserve(all, func(r *datapath.Reservation) { r.Claims = 2 })
	g.reserve(other, nil)
	host := endpoint(hostA, 80)
	for n := range uint16(most) {
		g.established(endpoint(remote, 50000+n), lent, host)
	}
	g.dropped(g.put(syn(endpoint(remote, 51000))), "drop_client_limit")
	g.established(client2, lent, host)
	g.established(client, endpoint(pool2, 80), endpoint(hostB, 80))
	g.forwarded(g.put(tcp(client, lent, packets.RST)))
	g.established(endpoint(remote, 51000), lent, host)
	g.dropped(g.put(syn(endpoint(remote, 51001))), "drop_client_limit")
	g.leaves(g.put(tcp(client, lent, packets.ACK)), tcp(client, host, packets.ACK)) // it was not over (RFC 7857)
	g.sound()
}

// Datagrams have a limit of their own: those that somebody forges in a client's name leave the client its connections.
func TestForgedDatagramsLeaveConnections(t *testing.T) {
	t.Parallel()
	const most = 4
	g := newGateway(t, timeouts(func(s *datapath.Settings) { s.ClientSessions = most }))
	public, host := endpoint(pool1, 443), endpoint(hostA, 8080)
	b := g.bind(pool1, hostA, tcpPort(443, 8080), model.Port{Protocol: model.UDP, Port: 443, To: 8080})
	g.reserve(b, nil)
	g.established(client, public, host)
	forged := func(n uint16) packets.Packet { return udp(endpoint(remote, 20000+n), public) }
	for n := range uint16(most) {
		g.forwarded(g.put(forged(n)))
	}
	g.dropped(g.put(forged(most)), "drop_client_limit")
	for n := range uint16(most - 1) {
		g.established(endpoint(remote, 50001+n), public, host)
	}
	g.dropped(g.put(segment(endpoint(remote, 51000), public, packets.SYN, clientISN, 0)), "drop_client_limit")
	g.idle(301 * time.Second) // datagrams end by their time
	g.forwarded(g.put(forged(most)))
	g.dropped(g.put(segment(endpoint(remote, 51000), public, packets.SYN, clientISN, 0)), "drop_client_limit")
	g.sound()
}

// Of connections that begin at once as many are let in as may.
func TestLimitOfAClientAtItsProof(t *testing.T) {
	t.Parallel()
	const most = 2
	g := newGateway(t, timeouts(func(s *datapath.Settings) { s.ClientSessions = most }))
	g.lend(pool1, 80, service, nil)
	for n := range uint16(3) {
		g.knocks(endpoint(remote, 50000+n))
		g.answers(endpoint(remote, 50000+n), lent, service)
	}
	for n := range uint16(most) {
		from := endpoint(remote, 50000+n)
		g.leaves(g.put(proof(from, lent)), proof(from, service))
	}
	g.dropped(g.put(proof(endpoint(remote, 50002), lent)), "drop_client_limit")
	g.count(most)
	g.sound()
}

// A datagram's source may be anybody: it is known when the host has answered and it came again.
func TestKnownByDatagrams(t *testing.T) {
	t.Parallel()
	for name, protocol := range map[string]struct {
		in  func(port uint16) packets.Packet
		out func(port uint16) packets.Packet
	}{
		"UDP": {func(port uint16) packets.Packet { return udp(endpoint(remote, port), lent) },
			func(port uint16) packets.Packet { return udp(endpoint(hostA, 80), endpoint(remote, port)) }},
		"ping": {func(id uint16) packets.Packet { return echo(remote, pool1, id) },
			func(id uint16) packets.Packet { return echoReply(hostA, remote, id) }},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t)
			b := g.bind(pool1, hostA, everything)
			g.reserve(b, nil)
			known := func(want bool) {
				t.Helper()
				_, is, err := dataplane.KnownTo(g.data, b.ID, remote, model.UDP)
				check(t, err)
				same(g, "known", is, want)
			}
			g.forwarded(g.put(protocol.in(5)))
			g.forwarded(g.put(protocol.in(5)))
			known(false) // nobody has answered
			g.dropped(g.put(protocol.in(6)), "drop_no_reservation")
			g.forwarded(g.put(protocol.out(5)))
			known(false) // nor has it come again
			g.dropped(g.put(protocol.in(6)), "drop_no_reservation")
			g.forwarded(g.put(protocol.in(5)))
			known(true)
			g.forwarded(g.put(protocol.in(6)))
			sessions, _, _ := dataplane.KnownTo(g.data, b.ID, remote, model.UDP)
			same(g, "sessions", sessions, 2)
			g.idle(301 * time.Second)
			sessions, _, _ = dataplane.KnownTo(g.data, b.ID, remote, model.UDP)
			same(g, "sessions", sessions, 0)
			g.sound()
		})
	}
}

// A full table makes nobody known, and says so; who is stays so, and claims go on.
func TestFullTableOfKnownClients(t *testing.T) {
	t.Parallel()
	const places = 8
	g := newGateway(t, func(s *setup) { s.Known = places })
	b := g.bind(pool1, hostA, tcpPort(80, 8080))
	g.reserve(b, func(r *datapath.Reservation) { r.Claims = 1000 })
	for n := range 5 * places {
		g.visits(stranger(n))
	}
	full := must(g.data.Usage())(t).KnownFull
	if full < 4*places {
		t.Fatalf("%d clients found no place, want %d at least", full, 4*places)
	}
	same(g, "known clients", g.census().Known, 5*places-int(full))
	known := 0
	for n := range 5 * places {
		_, is, _ := dataplane.KnownTo(g.data, b.ID, stranger(n).Addr(), model.TCP)
		if is {
			known++
		}
	}
	same(g, "known clients", known, 5*places-int(full))
	must(g.data.EndAll())(t)
	check(t, dataplane.Age(g.data, 301*time.Second))
	g.visits(client) // places that nobody holds are given away
	g.visits(endpoint(remote, 50001))
	_, is, _ := dataplane.KnownTo(g.data, b.ID, remote, model.TCP)
	same(g, "known", is, true)
	g.sound()
}
