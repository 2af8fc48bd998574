package datapath

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
)

var (
	service = endpoint(hostA, 8080)
	lent    = endpoint(pool1, 80)
	client  = endpoint(remote, 50000)
	client2 = endpoint(remote2, 50000)
)

func syn(from netip.AddrPort) packets.Packet { return segment(from, lent, packets.SYN, clientISN, 0) }

// stranger is the n-th of many clients.
func stranger(n int) netip.AddrPort {
	return endpoint(netip.AddrFrom4([4]byte{192, 0, byte(2 + n/250), byte(1 + n%250)}), 50000)
}

// knocks wants a client's SYN to come to the service.
func (g *gateway) knocks(from netip.AddrPort) {
	g.t.Helper()
	g.leaves(g.put(syn(from)), segment(from, service, packets.SYN, clientISN, 0))
}

// visits wants a client to connect to the service.
func (g *gateway) visits(from netip.AddrPort) {
	g.t.Helper()
	g.established(from, lent, service)
}

// Who asked, and whether a claim was taken: a SYN takes none, and the first who proves itself
// takes the only one.
func TestClaimOnce(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	r := g.lend(pool1, 80, service, nil)
	g.knocks(client)
	g.knocks(client) // the same segment again follows its flow
	g.count(1)
	same(g, "claims used by SYNs", must(g.data.Reservations())(t)[0].Used, 0)
	g.visits(client2)
	g.dropped(g.put(syn(stranger(0))), "drop_no_reservation")
	same(g, "what became of it", must(g.data.Withdraw(r.ID))(t).Used, 1)
}

func TestClaimNeedsAPureSYN(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	r := g.lend(pool1, 80, service, nil)
	for _, flags := range []packets.Flags{packets.ACK, synAck, packets.FIN | packets.ACK, packets.RST, packets.RST | packets.ACK} {
		g.dropped(g.put(tcp(client, lent, flags)), "drop_not_syn")
	}
	for _, flags := range []packets.Flags{0, packets.SYN | packets.FIN, packets.SYN | packets.RST, packets.FIN} {
		g.dropped(g.put(tcp(client, lent, flags)), "drop_tcp_flags")
	}
	g.dropped(g.put(udp(client, lent)), "drop_no_binding")
	g.dropped(g.put(tcp(client, endpoint(pool1, 81), packets.SYN)), "drop_no_binding")
	g.dropped(g.put(syn(client).Change(lastFragment)), "drop_fragment")
	g.dropped(g.put(ttl1(syn(client))), "drop_ttl_expired")
	same(g, "claims used", must(g.data.Withdraw(r.ID))(t).Used, 0)
}

func TestClaimByOtherProtocols(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.lend(pool1, 0, endpoint(hostA, 0), func(r *datapath.Reservation) { r.Claims = 3 })
	g.leaves(g.put(udp(client, lent)), udp(client, endpoint(hostA, 80)))
	g.leaves(g.put(udp(endpoint(hostA, 80), client)), udp(lent, client))
	g.leaves(g.put(echo(remote, pool1, 9)), echo(remote, hostA, 9))
	g.leaves(g.put(echoReply(hostA, remote, 9)), echoReply(pool1, remote, 9))
	g.established(client, lent, endpoint(hostA, 80))
	g.dropped(g.put(echoReply(remote2, pool1, 9)), "drop_no_session")
	g.dropped(g.put(udp(client2, lent)), "drop_no_reservation")
}

// Two people behind one resolver: two questions answered alike add a claim.
func TestClaimExtended(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	r := g.lend(pool1, 80, service, nil)
	check(t, g.data.Extend(r.ID, 2))
	check(t, g.data.Extend(r.ID, 2)) // says how many in all, not how many more
	g.visits(client)
	g.visits(client2)
	g.dropped(g.put(syn(stranger(0))), "drop_no_reservation")
	if err := g.data.Extend(r.ID, 3); !errors.Is(err, datapath.ErrSpent) {
		t.Fatalf("extending a spent reservation: %v", err)
	}
}

// Who asks itself gets its own claim, however long others have waited, and nobody shares it.
func TestClaimOfWhoAskedItself(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	first := g.lend(pool1, 80, service, nil)
	own := g.lend(pool1, 80, service, func(r *datapath.Reservation) {
		r.Asker, r.Merged, r.Window = client.Addr(), 15, time.Minute
	})
	g.visits(client)
	same(g, "claims of the other's", must(g.data.Withdraw(first.ID))(t).Used, 0)
	for n := range 6 {
		g.dropped(g.put(syn(stranger(n))), "drop_no_reservation")
	}
	same(g, "claims of its own", must(g.data.Withdraw(own.ID))(t).Used, 1)
}

// First come, first served: the oldest that may still be claimed.
func TestClaimsAreTakenInTheirOrder(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	var ids []uint64
	for range 5 {
		ids = append(ids, g.lend(pool1, 80, service, nil).ID)
	}
	must(g.data.Withdraw(ids[1]))(t)
	want := [][]int{{0}, {0, 2}, {0, 2, 3}, {0, 2, 3, 4}}
	for n, used := range want {
		g.visits(stranger(n))
		var got []int
		for i, id := range ids {
			for _, r := range must(g.data.Reservations())(t) {
				if r.ID == id && r.Used == 1 {
					got = append(got, i)
				}
			}
		}
		same(g, "reservations claimed", len(got), len(used))
		for i := range used {
			same(g, "reservation claimed", got[i], used[i])
		}
	}
	g.dropped(g.put(syn(stranger(9))), "drop_no_reservation")
}

// A long queue: the oldest 64 and the youngest are looked at, and what nobody can claim any
// more is passed for good.
func TestClaimsInALongQueue(t *testing.T) {
	t.Parallel()
	const many = 200
	g := newGateway(t, func(s *setup) { s.Reservations, s.Bindings = 4096, 16 }) // 256 in a queue
	elsewhere := netip.MustParsePrefix("192.0.2.0/24")
	for range many {
		g.lend(pool1, 80, service, func(r *datapath.Reservation) { r.Source = elsewhere })
	}
	last := g.lend(pool1, 80, service, nil)
	g.visits(client)
	same(g, "claims of the youngest", must(g.data.Withdraw(last.ID))(t).Used, 1)
	for n := range many {
		g.visits(stranger(n))
	}
	g.lend(pool1, 80, service, nil)
	g.visits(client2)
	g.dropped(g.put(syn(stranger(many))), "drop_no_reservation")
}

// A resolver merges equal questions, so that one stands for several clients: when another than
// the asker has claimed, so many more may within the window.
func TestClaimMerged(t *testing.T) {
	t.Parallel()
	const merged = 4
	g := newGateway(t)
	r := g.lend(pool1, 80, service, func(r *datapath.Reservation) { r.Merged, r.Window = merged, time.Minute })
	waiting := stranger(merged) // for whom its SYN came before the first proof
	g.knocks(waiting)
	for n := range merged {
		g.visits(stranger(n))
	}
	g.knocks(waiting) // again, however slow the machine is
	g.answers(waiting, lent, service)
	g.leaves(g.put(proof(waiting, lent)), proof(waiting, service))
	g.dropped(g.put(syn(stranger(99))), "drop_no_reservation")
	same(g, "claims used", must(g.data.Withdraw(r.ID))(t).Used, merged+1)
}

func TestClaimMergedEnds(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.lend(pool1, 80, service, func(r *datapath.Reservation) { r.Merged, r.Window = 15, 50*time.Millisecond })
	g.visits(client)
	time.Sleep(60 * time.Millisecond)
	g.dropped(g.put(syn(client2)), "drop_no_reservation")
}

// However long the window is: an answer's claims end with it.
func TestClaimMergedEndsWithTheAnswer(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	r := g.lend(pool1, 80, service, func(r *datapath.Reservation) {
		r.Merged, r.Window, r.Expires = 15, time.Minute, datapath.Now().Add(time.Second)
	})
	g.visits(client)
	g.visits(stranger(0))
	time.Sleep(r.Expires.Sub(datapath.Now()))
	g.dropped(g.put(syn(client2)), "drop_no_reservation")
}

// A known client needs no claim, but what it has asked for itself is used up by that: no other comes by it.
func TestClaimOfAKnownClient(t *testing.T) {
	t.Parallel()
	again := endpoint(client.Addr(), client.Port()+1)
	for name, open := range map[string]func(*gateway){
		"tcp": func(g *gateway) { g.established(again, lent, endpoint(hostA, 80)) },
		"udp": func(g *gateway) { g.leaves(g.put(udp(again, lent)), udp(again, endpoint(hostA, 80))) },
	} {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t)
			g.lend(pool1, 0, endpoint(hostA, 0), nil)
			g.established(client, lent, endpoint(hostA, 80))
			own := g.lend(pool1, 0, endpoint(hostA, 0), func(r *datapath.Reservation) {
				r.Asker, r.Merged, r.Window = client.Addr(), 15, time.Minute
			})
			open(g)
			g.dropped(g.put(syn(stranger(0))), "drop_no_reservation")
			same(g, "claims used", must(g.data.Withdraw(own.ID))(t).Used, 1)
		})
	}
}

func TestClaimExpired(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.lend(pool1, 80, service, func(r *datapath.Reservation) { r.Expires = datapath.Now() })
	g.dropped(g.put(syn(client)), "drop_no_reservation")
}

// Who knocks in time may prove itself when it is over.
func TestClaimBeforeTheExpiryProvedBehindIt(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.lend(pool1, 80, service, func(r *datapath.Reservation) { r.Expires = datapath.Now().Add(50 * time.Millisecond) })
	g.knocks(client)
	g.answers(client, lent, service)
	time.Sleep(100 * time.Millisecond)
	g.leaves(g.put(proof(client, lent)), proof(client, service))
	g.dropped(g.put(syn(client2)), "drop_no_reservation")
}

// A listed resolver tells for whom it asks (RFC 7871).
func TestClaimBySource(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	net1, net2 := netip.PrefixFrom(remote, 24), netip.MustParsePrefix("192.0.2.0/24")
	for _, source := range []netip.Prefix{net2, net1} {
		g.lend(pool1, 80, service, func(r *datapath.Reservation) { r.Source = source })
	}
	g.visits(client)
	g.dropped(g.put(syn(client2)), "drop_no_reservation") // of the same prefix
	g.dropped(g.put(syn(endpoint(netip.MustParseAddr("192.0.3.1"), 1))), "drop_no_reservation")
	g.visits(stranger(0))
	// Nor does the resolver itself get what it asked for others.
	g.lend(pool1, 80, service, func(r *datapath.Reservation) { r.Source = net2 })
	g.dropped(g.put(syn(endpoint(asker, 50000))), "drop_no_reservation")
}

func TestWithdrawn(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	r := g.lend(pool1, 80, service, nil)
	same(g, "what became of it", must(g.data.Withdraw(r.ID))(t), datapath.Withdrawn{Left: 1})
	g.dropped(g.put(syn(client)), "drop_no_reservation")
	if _, err := g.data.Withdraw(r.ID); !errors.Is(err, datapath.ErrSpent) {
		t.Fatalf("withdrawn twice: %v", err)
	}
	if err := g.data.Extend(r.ID, 2); !errors.Is(err, datapath.ErrSpent) {
		t.Fatalf("extended behind its end: %v", err)
	}
	if err := g.data.Reserve(datapath.Reservation{ID: 9 << 32, Binding: r.Binding + 1<<32, Asker: asker, Claims: 1}); !errors.Is(err, datapath.ErrSpent) {
		t.Fatalf("reserved of a binding that is not there: %v", err)
	}
}

// Not each of the claims that come at once wakes who reads: it hears of all even so, though none comes behind them.
func TestClaimsAreToldTogether(t *testing.T) {
	t.Parallel()
	const claims = 200
	g := newGateway(t)
	events := must(g.data.Claims())(t)
	defer events.Close()
	heard := make(chan error, 1)
	go func() {
		defer close(heard)
		for range claims {
			if _, err := events.Next(); err != nil {
				heard <- err
				return
			}
		}
	}()
	g.lend(pool1, 80, service, func(r *datapath.Reservation) { r.Claims = claims })
	for n := range claims {
		g.visits(forged(n))
	}
	select {
	case err := <-heard:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("not all claims were told of")
	}
	same(g, "events lost", must(g.data.Usage())(t).EventsLost, 0)
}

func TestClaimEvents(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	events := must(g.data.Claims())(t)
	defer events.Close()
	r := g.lend(pool1, 80, service, func(r *datapath.Reservation) { r.Claims = 2 })
	g.visits(client)
	event := must(events.Next())(t)
	if event.ID != r.ID || event.Left != 1 || event.Used != 1 || event.Client != remote || event.At == 0 {
		t.Fatalf("%+v", event)
	}
	g.visits(client2)
	event = must(events.Next())(t)
	if event.ID != r.ID || event.Left != 0 || event.Used != 2 || event.Client != remote2 {
		t.Fatalf("%+v", event)
	}
}
