package datapath

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/packets"
)

var (
	service = endpoint(hostA, 8080)
	lent    = endpoint(pool1, 80)
	client  = endpoint(remote, 50000)
	client2 = endpoint(remote2, 50000)
)

func again(d time.Duration) func(*datapath.Reservation) {
	return func(r *datapath.Reservation) { r.Again = d }
}

func syn(from netip.AddrPort) packets.Packet { return tcp(from, lent, packets.SYN) }

func (g *gateway) claims(from netip.AddrPort) {
	g.t.Helper()
	g.leaves(g.put(syn(from)), tcp(from, service, packets.SYN))
}

func TestClaimOnce(t *testing.T) {
	g := newGateway(t)
	g.lend(pool1, 80, service, nil)
	g.claims(client)
	g.claims(client) // the same segment again follows its flow
	g.dropped(g.put(syn(endpoint(remote, 50001))), "drop_reservation_spent")
	g.dropped(g.put(syn(client2)), "drop_reservation_spent")
	g.count(1)
}

func TestClaimNeedsAPureSYN(t *testing.T) {
	g := newGateway(t)
	r := g.lend(pool1, 80, service, nil)
	for _, flags := range []packets.Flags{0, packets.ACK, synAck, packets.SYN | packets.FIN, packets.SYN | packets.RST, packets.FIN, packets.RST} {
		g.dropped(g.put(tcp(client, lent, flags)), "drop_not_syn")
	}
	g.dropped(g.put(udp(client, lent)), "drop_no_reservation")
	g.dropped(g.put(tcp(client, endpoint(pool1, 81), packets.SYN)), "drop_no_reservation")
	g.dropped(g.put(syn(client).Change(func(p *packets.Packet) { p.IPv4.MF = true })), "drop_fragment")
	g.dropped(g.put(ttl1(syn(client))), "drop_ttl_expired")
	same(g, "claims used", must(g.data.Withdraw(r.ID))(t).Used, 0)
}

func TestClaimByOtherProtocols(t *testing.T) {
	g := newGateway(t)
	wild := endpoint(hostA, 0)
	g.lend(pool1, 0, wild, func(r *datapath.Reservation) { r.Claims = 3 })
	g.leaves(g.put(udp(client, lent)), udp(client, endpoint(hostA, 80)))
	g.leaves(g.put(udp(endpoint(hostA, 80), client)), udp(lent, client))
	g.leaves(g.put(tcp(client, lent, packets.SYN)), tcp(client, endpoint(hostA, 80), packets.SYN))
	g.leaves(g.put(echo(remote, pool1, 9)), echo(remote, hostA, 9))
	g.leaves(g.put(echoReply(hostA, remote, 9)), echoReply(pool1, remote, 9))
	g.dropped(g.put(echoReply(remote2, pool1, 9)), "drop_no_session")
	g.dropped(g.put(udp(client2, lent)), "drop_reservation_spent")
}

// Two people behind one resolver: two questions answered alike add a claim.
func TestClaimExtended(t *testing.T) {
	g := newGateway(t)
	r := g.lend(pool1, 80, service, nil)
	check(t, g.data.Extend(r.ID, 2))
	check(t, g.data.Extend(r.ID, 2)) // says how many in all, not how many more
	g.claims(client)
	g.claims(client2)
	g.dropped(g.put(syn(endpoint(never, 1))), "drop_reservation_spent")
	if err := g.data.Extend(r.ID, 3); !errors.Is(err, datapath.ErrSpent) {
		t.Fatalf("extending a spent reservation: %v", err)
	}
}

// A client that opens several connections at once.
func TestClaimAgain(t *testing.T) {
	g := newGateway(t)
	r := g.lend(pool1, 80, service, again(time.Minute))
	for port := range uint16(6) {
		g.claims(endpoint(remote, 50000+port))
	}
	same(g, "claims used", must(g.data.Withdraw(r.ID))(t).Used, 1)
	g.dropped(g.put(syn(endpoint(remote, 50010))), "drop_no_reservation")
}

func TestClaimAgainEnds(t *testing.T) {
	g := newGateway(t)
	g.lend(pool1, 80, service, again(time.Nanosecond))
	g.claims(client)
	g.dropped(g.put(syn(endpoint(remote, 50001))), "drop_reservation_spent")
}

// A resolver merges equal questions, so that one stands for several clients:
// within the hold a few more sources get in.
func TestClaimMerged(t *testing.T) {
	const merged = 4
	g := newGateway(t)
	g.lend(pool1, 80, service, again(time.Minute))
	for n := range merged + 1 {
		g.claims(endpoint(netip.AddrFrom4([4]byte{192, 0, 2, byte(10 + n)}), 50000))
	}
	g.dropped(g.put(syn(endpoint(never, 1))), "drop_reservation_spent")
}

func TestClaimExpired(t *testing.T) {
	g := newGateway(t)
	g.lend(pool1, 80, service, func(r *datapath.Reservation) { r.Expires = datapath.Now() })
	g.dropped(g.put(syn(client)), "drop_reservation_spent")
}

func TestClaimBySource(t *testing.T) {
	g := newGateway(t)
	for host, source := range map[netip.AddrPort]netip.Addr{service: remote, endpoint(hostB, 8080): remote2} {
		g.lend(pool1, 80, host, func(r *datapath.Reservation) { r.Source = netip.PrefixFrom(source, 32) })
	}
	g.leaves(g.put(syn(client2)), tcp(client2, endpoint(hostB, 8080), packets.SYN))
	g.claims(client)
	g.dropped(g.put(syn(endpoint(never, 1))), "drop_no_reservation")
}

func TestWithdrawn(t *testing.T) {
	g := newGateway(t)
	r := g.lend(pool1, 80, service, nil)
	same(g, "what became of it", must(g.data.Withdraw(r.ID))(t), datapath.Withdrawn{Left: 1})
	g.dropped(g.put(syn(client)), "drop_no_reservation")
	if _, err := g.data.Withdraw(r.ID); !errors.Is(err, datapath.ErrSpent) {
		t.Fatalf("withdrawn twice: %v", err)
	}
	// The slot's next use is another reservation.
	g.lend(pool1, 80, endpoint(hostB, 8080), func(next *datapath.Reservation) { next.ID = r.ID + 1<<32 })
	if err := g.data.Extend(r.ID, 2); !errors.Is(err, datapath.ErrSpent) {
		t.Fatalf("extending what is gone: %v", err)
	}
	g.leaves(g.put(syn(client)), tcp(client, endpoint(hostB, 8080), packets.SYN))
}

// A session of a slot's earlier reservation has no say in the later one.
func TestSessionsOfAnEarlierReservation(t *testing.T) {
	g := newGateway(t)
	events := must(g.data.Claims())(t)
	defer events.Close()
	r := g.lend(pool1, 80, service, nil)
	g.established(client, lent, service)
	same(g, "event of", must(events.Next())(t).ID, r.ID)
	must(g.data.Withdraw(r.ID))(t)
	next := g.lend(pool2, 80, endpoint(hostB, 8080), func(next *datapath.Reservation) { next.ID = r.ID + 1<<32 })
	g.established(client2, endpoint(pool2, 80), endpoint(hostB, 8080))
	event := must(events.Next())(t)
	same(g, "event of", event.ID, next.ID)
	g.forwarded(g.put(tcp(client, lent, packets.RST)))
	g.forwarded(g.put(tcp(client2, endpoint(pool2, 80), packets.RST)))
	event = must(events.Next())(t)
	if event.ID != next.ID || !event.Closed {
		t.Fatalf("%+v, want the end of %#x", event, next.ID)
	}
}

// I4: a tuple in use stays with its host, also when it is closing.
func TestTupleStaysWithItsHost(t *testing.T) {
	g := newGateway(t)
	r := g.lend(pool1, 80, service, nil)
	g.established(client, lent, service)
	must(g.data.Withdraw(r.ID))(t)
	g.lend(pool1, 80, endpoint(hostB, 8080), func(r *datapath.Reservation) { r.Claims = 2 })
	g.claims(client) // live: its SYN follows the flow
	g.forwarded(g.put(tcp(client, lent, packets.RST)))
	g.dropped(g.put(syn(client)), "drop_session_conflict")
	g.leaves(g.put(tcp(client, lent, packets.ACK)), tcp(client, service, packets.ACK))
	g.leaves(g.put(syn(client2)), tcp(client2, endpoint(hostB, 8080), packets.SYN))
}

// I4 also where the host is the same but its port is another.
func TestTupleStaysWithItsPort(t *testing.T) {
	g := newGateway(t)
	r := g.lend(pool1, 80, service, nil)
	g.established(client, lent, service)
	must(g.data.Withdraw(r.ID))(t)
	g.lend(pool1, 80, endpoint(hostA, 8081), nil)
	g.forwarded(g.put(tcp(client, lent, packets.RST)))
	g.dropped(g.put(syn(client)), "drop_session_conflict")
}

// I8: two pool addresses that lead to one inside tuple.
func TestInsideTupleIsUnique(t *testing.T) {
	g := newGateway(t)
	g.lend(pool1, 80, service, nil)
	other := endpoint(pool2, 80)
	g.lend(pool2, 80, service, func(r *datapath.Reservation) { r.Claims = 2 })
	g.established(client, lent, service)
	g.dropped(g.put(tcp(client, other, packets.SYN)), "drop_session_conflict")
	g.leaves(g.put(tcp(service, client, packets.ACK)), tcp(lent, client, packets.ACK))
	// When the first is closing, a pure SYN takes its place.
	g.forwarded(g.put(tcp(client, lent, packets.FIN|packets.ACK)))
	g.dropped(g.put(tcp(client, other, packets.SYN)), "drop_session_conflict")
	g.forwarded(g.put(tcp(service, client, packets.FIN|packets.ACK)))
	g.established(client, other, service)
	g.count(1)
	g.dropped(g.put(tcp(client, lent, packets.ACK)), "drop_not_syn")
}

// A closing session is opened again only by a reservation.
func TestClosingSessionNeedsAReservation(t *testing.T) {
	g := newGateway(t)
	r := g.lend(pool1, 80, service, nil)
	g.established(client, lent, service)
	g.forwarded(g.put(tcp(client, lent, packets.RST)))
	g.dropped(g.put(syn(client)), "drop_reservation_spent")
	must(g.data.Withdraw(r.ID))(t)
	g.dropped(g.put(syn(client)), "drop_no_reservation")
	g.lend(pool1, 80, service, nil)
	g.established(client, lent, service)
	g.count(1)
}

func TestHandshakeOfAClaimHasItsOwnTimer(t *testing.T) {
	g := newGateway(t)
	g.lend(pool1, 80, service, nil)
	g.claims(client)
	g.idle(4 * time.Second)
	g.count(1)
	g.idle(2 * time.Second)
	g.count(0)
	g.dropped(g.put(tcp(service, client, synAck)), "drop_not_syn")
}

// A closed service ends its sessions, a new generation alone does not.
func TestGenerationJudgesAgain(t *testing.T) {
	g := newGateway(t)
	g.lend(pool1, 80, service, nil)
	g.established(client, lent, service)
	out := g.mapped(udp(inA, server))
	policy := func(services ...datapath.Service) {
		g.in(func() error { _, err := g.data.SetPolicy(g.settings, services, nil); return err })
	}
	policy(datapath.Service{Host: hostA, Port: 8080, Protocol: model.TCP})
	g.leaves(g.put(tcp(client, lent, packets.ACK)), tcp(client, service, packets.ACK))
	for _, s := range g.sessions() {
		if s.Origin == "pool" {
			same(g, "generation", s.Generation, must(g.data.Generation())(t))
		}
	}
	policy(datapath.Service{Host: hostA, Port: 8081, Protocol: model.TCP}, datapath.Service{Host: hostB})
	g.dropped(g.put(tcp(client, lent, packets.ACK)), "drop_service_closed")
	g.dropped(g.put(unreachable(hop, 1, 0, tcp(lent, client, packets.ACK), 8)), "drop_service_closed")
	g.leaves(g.put(udp(server, out)), udp(server, inA))
	g.lend(pool2, 80, service, nil)
	g.dropped(g.put(tcp(client2, endpoint(pool2, 80), packets.SYN)), "drop_service_closed")
	policy(datapath.Service{Host: hostA}) // the whole host is another service than the one that was lent
	g.dropped(g.put(tcp(client, lent, packets.ACK)), "drop_service_closed")
	policy(datapath.Service{Host: hostA, Port: 8080, Protocol: model.TCP})
	g.leaves(g.put(tcp(client, lent, packets.ACK)), tcp(client, service, packets.ACK))
}
