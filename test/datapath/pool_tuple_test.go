package datapath

import (
	"testing"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// I4: a tuple in use stays with its host, also when it is closing.
func TestTupleStaysWithItsHost(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.lend(pool1, 80, service, nil)
	g.visits(client)
	g.lend(pool1, 80, endpoint(hostB, 8080), func(r *datapath.Reservation) { r.Claims = 2 }) // the binding moves
	g.dropped(g.put(syn(client)), "drop_session_conflict")                                   // live: I9
	g.forwarded(g.put(tcp(client, lent, packets.RST)))
	g.dropped(g.put(syn(client)), "drop_session_conflict")
	g.leaves(g.put(tcp(client, lent, packets.ACK)), tcp(client, service, packets.ACK))
	g.established(client2, lent, endpoint(hostB, 8080))
}

// I4 also where the host is the same but its port is another.
func TestTupleStaysWithItsPort(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.lend(pool1, 80, service, nil)
	g.visits(client)
	g.lend(pool1, 80, endpoint(hostA, 8081), nil)
	g.forwarded(g.put(tcp(client, lent, packets.RST)))
	g.dropped(g.put(syn(client)), "drop_session_conflict")
}

// I8: two pool addresses that lead to one inside tuple.
func TestInsideTupleIsUnique(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.lend(pool1, 80, service, nil)
	other := endpoint(pool2, 80)
	g.lend(pool2, 80, service, func(r *datapath.Reservation) { r.Claims = 2 })
	g.visits(client)
	g.dropped(g.put(tcp(client, other, packets.SYN)), "drop_session_conflict")
	g.leaves(g.put(tcp(service, client, packets.ACK)), tcp(lent, client, packets.ACK))
	// When the first is closing, a pure SYN takes its place.
	g.forwarded(g.put(tcp(client, lent, packets.FIN|packets.ACK)))
	g.dropped(g.put(tcp(client, other, packets.SYN)), "drop_session_conflict")
	g.forwarded(g.put(tcp(service, client, packets.FIN|packets.ACK)))
	g.established(client, other, service)
	g.count(1)
	g.dropped(g.put(tcp(client, lent, packets.ACK)), "drop_not_syn")
	g.sound()
}

// A closing session is opened again only by who may come in.
func TestClosingSessionNeedsAdmission(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	r := g.lend(pool1, 80, service, nil)
	g.visits(client)
	g.forwarded(g.put(tcp(client, lent, packets.RST)))
	must(g.data.Withdraw(r.ID))(t)
	g.visits(client) // known
	g.count(1)
	g.forwarded(g.put(tcp(client, lent, packets.RST)))
	g.unbind(g.bound[public{pool1, model.TCP, 80}])
	g.dropped(g.put(syn(client)), "drop_no_binding")
	g.lend(pool1, 80, service, nil)
	g.visits(client)
	g.count(1)
	g.sound()
}

// A closed service ends its sessions, a new generation alone does not.
func TestGenerationJudgesAgain(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.lend(pool1, 80, service, nil)
	g.visits(client)
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
	g.dropped(g.put(syn(endpoint(remote, 50001))), "drop_service_closed") // known or not
	g.lend(pool2, 80, service, nil)
	g.dropped(g.put(tcp(client2, endpoint(pool2, 80), packets.SYN)), "drop_service_closed")
	policy(datapath.Service{Host: hostA}) // the whole host is another service than the one that was bound
	g.dropped(g.put(tcp(client, lent, packets.ACK)), "drop_service_closed")
	policy(datapath.Service{Host: hostA, Port: 8080, Protocol: model.TCP})
	g.leaves(g.put(tcp(client, lent, packets.ACK)), tcp(client, service, packets.ACK))
}
