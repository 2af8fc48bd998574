package datapath

import (
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf/dnat"
)

// A server that a host has spoken to opens no more sessions through its mapping than a remote address may; the host goes
// on, to that server, too, and so do others from outside (A5 of the attacks).
func TestLimitRemoteThroughMapping(t *testing.T) {
	t.Parallel()
	const most = 20
	g := newGateway(t, limited(func(l *datapath.Limits) { l.RemoteSessions = most }))
	out := g.mapped(tcp(inA, web, packets.SYN))
	other := g.mapped(tcp(inA, endpoint(remote2, 80), packets.SYN))
	same(g, "one mapping", other, out)
	from := func(n uint16) packets.Packet { return tcp(endpoint(web.Addr(), 20000+n), out, packets.SYN) }
	for n := range uint16(most) {
		g.forwarded(g.put(from(n)))
	}
	for n := range uint16(most) {
		g.dropped(g.put(from(100+n)), "drop_remote_sessions")
	}
	g.forwarded(g.put(tcp(endpoint(remote2, 20000), out, packets.SYN)))
	g.mapped(tcp(endpoint(hostA, 41000), web, packets.SYN))
	g.sound()
	same(g, "open", must(g.data.Remotes())(t)[web.Addr()], most)
	g.idle(241 * time.Second)
	same(g, "remote addresses at last", g.census().Remotes, 0)
}

// Closed connections do not count against who opened them, and count again when they go on.
func TestLimitRemoteCountsOpenOnes(t *testing.T) {
	t.Parallel()
	const most = 4
	g := newGateway(t, limited(func(l *datapath.Limits) { l.RemoteSessions = most }))
	b := g.bind(pool1, hostA, tcpPort(80, 8080))
	g.reserve(b, nil)
	open := func() int { g.census(); return must(g.data.Remotes())(t)[remote] }
	for n := range uint16(most) {
		g.established(endpoint(remote, 50000+n), lent, service)
	}
	same(g, "open", open(), most)
	g.dropped(g.put(syn(endpoint(remote, 51000))), "drop_remote_sessions")
	g.forwarded(g.put(tcp(client, lent, packets.RST)))
	same(g, "open behind a reset", open(), most-1)
	g.established(endpoint(remote, 51000), lent, service)
	same(g, "open", open(), most)
	g.leaves(g.put(tcp(client, lent, packets.ACK)), tcp(client, service, packets.ACK)) // it was not over (RFC 7857)
	same(g, "open that had been reset", open(), most+1)
	g.sound()
	g.idle(7441 * time.Second)
	same(g, "open at last", open(), 0)
}

// A SYN whose sender proves nothing counts against nobody: anybody can have sent it.
func TestLimitRemoteCountsNoForgedSYN(t *testing.T) {
	t.Parallel()
	g := newGateway(t, limited(func(l *datapath.Limits) { l.RemoteSessions, l.RemoteRate = 1, 1 }))
	b := g.bind(pool1, hostA, tcpPort(80, 8080))
	g.reserve(b, func(r *datapath.Reservation) { r.Claims = 4 })
	for n := range uint16(3) {
		g.knocks(endpoint(remote, 51000+n))
	}
	g.visits(client)
	g.reset(g.refusing().put(syn(endpoint(remote, 52000))), syn(endpoint(remote, 52000)), "drop_remote_sessions")
}

// refusing has strangers told.
func (g *gateway) refusing() *gateway {
	g.t.Helper()
	g.settings.Refuse = true
	g.in(func() error { _, err := g.data.SetPolicy(g.settings, g.services, nil); return err })
	return g
}

// Who proves itself when the last place has gone loses, and is told.
func TestLimitAtTheProof(t *testing.T) {
	t.Parallel()
	for reason, set := range map[model.Reason]func(*datapath.Limits){
		"drop_remote_sessions":  func(l *datapath.Limits) { l.RemoteSessions = 1 },
		"drop_binding_sessions": func(l *datapath.Limits) { l.BindingSessions = 1 },
	} {
		g := newGateway(t, refusing, limited(set))
		b := g.bind(pool1, hostA, tcpPort(80, 8080))
		g.reserve(b, func(r *datapath.Reservation) { r.Claims = 4 })
		late := endpoint(remote, 51000)
		g.knocks(late)
		g.answers(late, lent, service)
		g.visits(client)
		g.reset(g.put(proof(late, lent)), proof(late, lent), reason)
		g.sound()
	}
}

// A service takes no more than its limit, whoever asks; its neighbours go on, and claims are not spent.
func TestLimitBinding(t *testing.T) {
	t.Parallel()
	const most = 5
	g := newGateway(t, limited(func(l *datapath.Limits) { l.BindingSessions = most }))
	whole := g.bind(pool1, hostA, everything)
	r := g.reserve(whole, func(r *datapath.Reservation) { r.Claims = 100 })
	other := g.bind(pool2, hostB, everything)
	g.reserve(other, nil)
	for n := range most {
		g.forwarded(g.put(udp(stranger(n), endpoint(pool1, 5000))))
	}
	for n := range most {
		g.dropped(g.put(udp(stranger(50+n), endpoint(pool1, 5000))), "drop_binding_sessions")
		g.dropped(g.put(tcp(stranger(50+n), endpoint(pool1, 80), packets.SYN)), "drop_binding_sessions")
	}
	g.forwarded(g.put(udp(client, endpoint(pool2, 5000))))
	g.sound()
	if w := must(g.data.Withdraw(r.ID))(t); w.Left != 100-most {
		t.Errorf("%d claims are left", w.Left)
	}
}

// A mapping lets in no more than its limit, of however many remote addresses; its host's own sessions are not among them.
func TestLimitMapping(t *testing.T) {
	t.Parallel()
	const most = 10
	g := newGateway(t, filtering(model.EndpointIndependent), limited(func(l *datapath.Limits) { l.MappingSessions = most }))
	out := g.mapped(udp(inA, server))
	for n := range uint16(most) {
		g.mapped(udp(inA, endpoint(remote2, 1+n)))
		g.forwarded(g.put(udp(stranger(int(n)), out)))
	}
	g.dropped(g.put(udp(stranger(100), out)), "drop_mapping_sessions")
	g.mapped(udp(inA, server2))
	neighbour := g.mapped(udp(endpoint(hostA, 41000), server))
	g.forwarded(g.put(udp(stranger(100), neighbour)))
	g.sound()
	g.idle(301 * time.Second)
	g.sound()
	g.mapped(udp(inA, server))
	g.forwarded(g.put(udp(stranger(100), out)))
}

// A rule of dnat lets one remote address open no more than its limit.
func TestLimitRemoteByDnat(t *testing.T) {
	t.Parallel()
	const most = 5
	g := newGateway(t, limited(func(l *datapath.Limits) { l.RemoteSessions = most }))
	g.forwards([]forward{{to: outbound, protocol: model.UDP, port: 5000, dnat: dnat.Dnat{Address: hostB}}})
	for n := range uint16(most) {
		g.forwarded(g.put(udp(endpoint(remote, 30000+n), endpoint(outbound, 5000))))
		g.forwarded(g.put(udp(endpoint(hostB, 5000), endpoint(remote, 30000+n))))
	}
	g.dropped(g.put(udp(endpoint(remote, 31000), endpoint(outbound, 5000))), "drop_remote_sessions")
	g.forwarded(g.put(udp(endpoint(remote2, 31000), endpoint(outbound, 5000))))
	g.sound()
}

// Of the sessions of a second a remote address opens only so many.
func TestLimitRemoteRate(t *testing.T) {
	t.Parallel()
	const most = 50
	g := newGateway(t, filtering(model.EndpointIndependent), limited(func(l *datapath.Limits) { l.RemoteRate = most }))
	out := g.mapped(udp(inA, server))
	opened, refused := 0, 0
	// Until a second has passed, and on a busy machine until so many were sent within one.
	for port := uint16(1); (opened <= most || refused == 0) && port < 10_000; port++ {
		switch r := g.put(udp(endpoint(remote2, port), out)); r.reason {
		case "forwarded":
			opened++
		case "drop_remote_rate":
			refused++
			time.Sleep(time.Millisecond)
		default:
			t.Fatal(r.reason)
		}
	}
	if refused == 0 || opened <= most {
		t.Errorf("%d opened, %d refused", opened, refused)
	}
	g.sound()
}

// Two hosts behind one outbound address are no remote party: what one opens to the other counts with it.
func TestLimitSparesHairpins(t *testing.T) {
	t.Parallel()
	g := newGateway(t, filtering(model.EndpointIndependent), limited(func(l *datapath.Limits) { l.RemoteSessions = 1 }))
	out := g.mapped(udp(inA, server))
	for n := range uint16(5) {
		if r := g.put(udp(endpoint(hostB, 41000+n), out)); r.reason != "forwarded" {
			t.Fatalf("hairpin %d: %s", n, r.reason)
		}
	}
	same(g, "remote addresses", g.census().Remotes, 0)
	same(g, "of the sender", g.subscriber(hostB), datapath.Subscriber{Sessions: 5, UDP: 5})
}

// UDP from outside that its host does not answer goes soon; what it has answered, or opened itself, has its two minutes
// at least (RFC 4787 REQ-5).
func TestUnansweredUDP(t *testing.T) {
	t.Parallel()
	g := newGateway(t, filtering(model.EndpointIndependent), timeouts(func(s *datapath.Settings) { s.Timeouts[model.TimeoutUDPUnanswered] = 30 * time.Second }))
	out := g.mapped(udp(inA, server)) // nobody answers that
	g.forwarded(g.put(udp(client, out)))
	g.forwarded(g.put(udp(client2, out)))
	g.mapped(udp(inA, client2)) // the answer
	whole := g.bind(pool2, hostB, everything)
	g.reserve(whole, nil)
	g.forwarded(g.put(udp(client, endpoint(pool2, 5000))))
	g.forwards([]forward{{to: outbound, protocol: model.UDP, port: 6000, dnat: dnat.Dnat{Address: hostB}}})
	g.forwarded(g.put(udp(client, endpoint(outbound, 6000))))
	g.count(5)
	g.idle(29 * time.Second)
	g.count(5)
	g.idle(2 * time.Second)
	g.count(2)
	g.idle(200 * time.Second)
	g.count(2)
	g.sound()
}

// However short it is set, what a host has opened keeps its own time.
func TestUnansweredUDPIsNoLongerThanUDP(t *testing.T) {
	t.Parallel()
	g := newGateway(t, filtering(model.EndpointIndependent), timeouts(func(s *datapath.Settings) {
		s.Timeouts[model.TimeoutUDP], s.Timeouts[model.TimeoutUDPUnanswered] = 20*time.Second, 30*time.Second
	}))
	g.forwarded(g.put(udp(client, g.mapped(udp(inA, web)))))
	g.idle(21 * time.Second)
	g.count(0)
}
