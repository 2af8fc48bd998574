package datapath

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/test/dataplane"
)

// A service's ports lead to the host's, and no others; everything leads everywhere.
func TestBoundPorts(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	b := g.bind(pool1, hostA, tcpPort(80, 8080), model.Port{Protocol: model.UDP, Port: 443, To: 8081}, model.Port{Protocol: model.ICMP})
	g.reserve(b, func(r *datapath.Reservation) { r.Claims = 9 })
	g.visits(client)
	g.leaves(g.put(udp(client, endpoint(pool1, 443))), udp(client, endpoint(hostA, 8081)))
	g.leaves(g.put(echo(remote, pool1, 9)), echo(remote, hostA, 9))
	for _, p := range []packets.Packet{
		udp(client, lent), tcp(client, endpoint(pool1, 443), packets.SYN), tcp(client, endpoint(pool1, 8080), packets.SYN),
		udp(client, endpoint(pool2, 443)), echo(remote, pool2, 9),
	} {
		g.dropped(g.put(p), "drop_no_binding")
	}
	all := g.bind(pool2, hostB, everything)
	g.reserve(all, func(r *datapath.Reservation) { r.Claims = 9 })
	g.leaves(g.put(udp(client, endpoint(pool2, 4711))), udp(client, endpoint(hostB, 4711)))
	g.leaves(g.put(echo(remote, pool2, 7)), echo(remote, hostB, 7))
	g.sound()
}

// Services of several owners share an address where their ports let them.
func TestOwnersShareAnAddress(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	a, b := g.bind(pool1, hostA, tcpPort(80, 8080)), g.bind(pool1, hostB, tcpPort(8443, 80))
	g.reserve(a, nil)
	g.reserve(b, nil)
	g.visits(client)
	g.dropped(g.put(tcp(client2, lent, packets.SYN)), "drop_no_reservation") // the other's claim is not for it
	g.established(client2, endpoint(pool1, 8443), endpoint(hostB, 80))
	if err := g.data.Bind(datapath.Binding{ID: 99<<32 | 9, Address: pool1, Host: hostB, Ports: []model.Port{tcpPort(81, 81), tcpPort(80, 80)}}); err == nil {
		t.Fatal("a port is bound twice")
	}
	if !g.data.SlotVacant(9) {
		t.Fatal("something is left of a binding that failed")
	}
	g.dropped(g.put(tcp(client, endpoint(pool1, 81), packets.SYN)), "drop_no_binding")
	g.sound()
}

// Ports come and go while the binding stands.
func TestRebind(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	b := g.bind(pool1, hostA, tcpPort(80, 8080), tcpPort(81, 8081))
	g.reserve(b, nil)
	g.visits(client)
	b.Ports = []model.Port{tcpPort(80, 8080), tcpPort(443, 5000)}
	check(t, g.data.Rebind(b))
	g.dropped(g.put(tcp(client, endpoint(pool1, 81), packets.SYN)), "drop_no_binding")
	g.established(client, endpoint(pool1, 443), endpoint(hostA, 5000)) // it is known as before
	found := must(g.data.Bindings())(t)
	same(g, "bindings", len(found), 1)
	same(g, "sessions", found[0].Sessions, 2)
	if !slices.Contains(found[0].Ports, tcpPort(443, 5000)) || len(found[0].Ports) != 2 || !found[0].Open || found[0].ID != b.ID {
		t.Fatalf("%+v", found[0])
	}
	g.sound()
}

// I9: when the binding has moved nobody reaches the new owner by what it was told of the old
// one; what stands goes on.
func TestMovedBinding(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	first := g.bind(pool1, hostA, tcpPort(80, 8080))
	g.reserve(first, func(r *datapath.Reservation) { r.Claims = 9 })
	g.visits(client)
	g.knocks(client2) // tentative when it moves
	g.answers(client2, lent, service)
	next := g.bind(pool1, hostB, tcpPort(80, 8080))
	g.dropped(g.put(syn(stranger(1))), "drop_no_reservation")             // a claim of the old one
	g.dropped(g.put(syn(endpoint(remote, 50001))), "drop_no_reservation") // known to the old one
	g.dropped(g.put(proof(client2, lent)), "drop_claim_lost")
	g.leaves(g.put(tcp(client, lent, packets.ACK)), tcp(client, service, packets.ACK))
	if g.data.SlotVacant(uint32(first.ID)) {
		t.Fatal("the old slot is vacant, and a session stands")
	}
	if err := g.data.Bind(datapath.Binding{ID: 77<<32 | first.ID&0xffffffff, Address: pool2, Host: hostB, Ports: []model.Port{tcpPort(80, 80)}}); err == nil {
		t.Fatal("a slot is used again whose session stands")
	}
	g.reserve(next, nil)
	g.established(stranger(2), lent, endpoint(hostB, 8080))
	g.sound()
	must(g.data.EndAll())(t)
	if !g.data.SlotVacant(uint32(first.ID)) {
		t.Fatal("the old slot is not vacant, and no session is left")
	}
	g.sound()
}

func TestUnboundAddress(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	b := g.bind(pool1, hostA, tcpPort(80, 8080))
	g.reserve(b, nil)
	g.visits(client)
	g.unbind(b)
	g.dropped(g.put(syn(client2)), "drop_no_binding")
	g.leaves(g.put(tcp(client, lent, packets.ACK)), tcp(client, service, packets.ACK))
	found := must(g.data.Bindings())(t)
	if len(found) != 1 || found[0].Open || found[0].Sessions != 1 {
		t.Fatalf("%+v", found)
	}
	if err := g.data.Unbind(b.ID); !errors.Is(err, datapath.ErrSpent) {
		t.Fatalf("unbound twice: %v", err)
	}
	g.sound()
}

// A binding tells when it was used last: a session that only knocks is no use of it, and one
// that has ended does not stand, though its record stays.
func TestBindingUse(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	b := g.bind(pool1, hostA, tcpPort(80, 8080))
	g.reserve(b, nil)
	g.knocks(client)
	if used, n := g.data.BindingUse(b.ID); used != 0 || n != 0 {
		t.Fatalf("used %d, %d sessions, by a SYN alone", used, n)
	}
	g.visits(client)
	before := datapath.Now()
	used, n := g.data.BindingUse(b.ID)
	if n != 1 || used < before-2*1<<28 || used > before+1<<28 {
		t.Fatalf("used %d before now, %d sessions", before-used, n)
	}
	all := 0
	if err := g.data.BindingUses(func(id uint64, usedAll model.Instant, sessions int) {
		if all++; id != b.ID || usedAll != used || sessions != n {
			t.Errorf("of all: binding %d used %d, %d sessions", id, usedAll, sessions)
		}
	}); err != nil || all != 1 {
		t.Errorf("of all: %d are used, %v", all, err)
	}
	check(t, dataplane.Age(g.data, time.Minute))
	g.forwarded(g.put(tcp(service, client, packets.FIN|packets.ACK)))
	_, n = g.data.BindingUse(b.ID)
	same(g, "sessions when one side is done", n, 1)
	g.forwarded(g.put(tcp(client, lent, packets.FIN|packets.ACK)))
	ended, n := g.data.BindingUse(b.ID)
	same(g, "sessions when both are done", n, 0)
	if ended.Sub(datapath.Now()) < -time.Second {
		t.Fatalf("the end is no use of it: %s ago", datapath.Now().Sub(ended))
	}
	g.count(1)
	g.idle(250 * time.Second)
	g.count(0)
	g.sound()
}

func TestBoundPortsAreBounded(t *testing.T) {
	t.Parallel()
	const most = 10
	g := newGateway(t, func(s *setup) { s.BoundPorts = most })
	var ports []model.Port
	for n := range uint16(most) {
		ports = append(ports, tcpPort(1000+n, 80))
	}
	b := g.bind(pool1, hostA, ports...)
	full := datapath.Binding{ID: 50<<32 | 5, Address: pool2, Host: hostB, Ports: []model.Port{everything}}
	if err := g.data.Bind(full); !errors.Is(err, datapath.ErrPortsFull) {
		t.Fatalf("port %d: %v", most+1, err)
	}
	for range 3 { // entries are used again
		g.unbind(b)
		b = g.bind(pool1, hostA, ports...)
	}
	g.unbind(b)
	check(t, g.data.Bind(full))
	g.sound()
}

// The daemon goes and comes: the next one finds all bindings, and claims go on meanwhile.
func TestBindingsAreAdopted(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	a := g.bind(pool1, hostA, tcpPort(80, 8080), tcpPort(443, 8081))
	b := g.bind(pool2, hostB, everything)
	g.reserve(a, func(r *datapath.Reservation) { r.Claims = 2 })
	g.reserve(b, nil)
	before := must(g.data.Bindings())(t)
	g.visits(client)
	g.reopen()
	after := must(g.data.Bindings())(t)
	same(g, "bindings", len(after), len(before))
	for i := range after {
		slices.SortFunc(after[i].Ports, func(a, b model.Port) int { return int(a.Key()) - int(b.Key()) })
	}
	same(g, "the first", fmt.Sprint(after[0].ID, after[0].Address, after[0].Host, after[0].Ports, after[0].Sessions, after[0].Open),
		fmt.Sprint(a.ID, pool1, hostA, a.Ports, 1, true))
	g.visits(endpoint(remote, 50001)) // known as before
	g.visits(client2)
	g.unbind(a)
	g.dropped(g.put(syn(stranger(0))), "drop_no_binding")
	g.sound()
}
