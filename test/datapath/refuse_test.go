package datapath

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/filter"
	"github.com/realmgate/realmgate/test/dataplane"
)

// refusing tells strangers at pool addresses that they may open nothing.
func refusing(s *setup) { s.Refuse = true }

// unreachablePort wants the packet dropped for the reason, and its sender told by the address
// that it came to.
func (g *gateway) unreachablePort(r result, p packets.Packet, reason model.Reason) {
	g.t.Helper()
	g.refused(r, p, reason, p.IPv4.Destination, packets.DestinationUnreachable, 3, 0)
}

// Each cause, and what its sender is told (RFC 9293 section 3.10.7.1, RFC 1122 section 3.2.2.1).
func TestRefusals(t *testing.T) {
	t.Parallel()
	g := newGateway(t, refusing)
	for _, to := range []netip.AddrPort{lent, endpoint(pool2, 443)} {
		for _, p := range []packets.Packet{
			segment(client, to, packets.SYN, 77, 0), with(segment(client, to, packets.SYN, 0xffffffff, 0), "early data"),
			segment(client, to, packets.ACK, 77, 4711), with(segment(client, to, packets.ACK|packets.PSH, 77, 4711), "data"),
			segment(client, to, packets.FIN|packets.ACK, 77, 4711), segment(client, to, synAck, 77, 4711),
		} {
			g.reset(g.put(p), p, "drop_no_binding")
		}
		g.dropped(g.put(segment(client, to, packets.RST, 77, 0)), "drop_no_binding")
		g.unreachablePort(g.put(udp(client, to)), udp(client, to), "drop_no_binding")
		g.dropped(g.put(echo(remote, to.Addr(), 9)), "drop_no_binding")
	}
	b := g.bind(pool1, hostA, tcpPort(80, 8080), model.Port{Protocol: model.UDP, Port: 80, To: 8080})
	p := syn(client)
	g.reset(g.put(p), p, "drop_no_reservation")
	g.unreachablePort(g.put(udp(client, lent)), udp(client, lent), "drop_no_reservation")
	p = segment(client, lent, packets.ACK, 7, 8)
	g.reset(g.put(p), p, "drop_not_syn")
	r := g.reserve(b, nil)
	g.visits(client)
	p = syn(client2)
	g.reset(g.put(p), p, "drop_no_reservation")
	must(g.data.Withdraw(r.ID))(t)
	g.unbind(b)
	p = segment(endpoint(remote, 50001), lent, packets.SYN, 7, 0) // known no longer
	g.reset(g.put(p), p, "drop_no_binding")
	same(g, "refusals", must(g.data.Usage())(t).Refusals, 19)
	g.count(1)
}

// What is refused by others, and what is no stranger's, is answered by nobody.
func TestNoRefusal(t *testing.T) {
	t.Parallel()
	g := newGateway(t, refusing)
	check(t, g.data.PutBans(map[netip.Prefix]time.Time{netip.PrefixFrom(never, 32): datapath.Forever}))
	g.dropped(g.put(syn(endpoint(never, 5))), "drop_banned")
	g.dropped(g.put(udp(endpoint(never, 5), lent)), "drop_banned")
	g.dropped(g.put(ttl1(syn(client))), "drop_ttl_expired")
	g.dropped(g.fromOutside(outside(syn(endpoint(hostA, 5)))), "drop_spoofed_source")
	many := syn(client).Between(packets.RouterMAC, packets.BroadcastMAC)
	g.dropped(g.send(true, many.Bytes()), "drop_no_binding")
	// Addresses that are not the pool's.
	g.dropped(g.put(tcp(client, endpoint(outbound, 80), packets.SYN)), "drop_no_mapping")
	g.dropped(g.put(udp(client, endpoint(outbound, 80))), "drop_no_mapping")
	// What a chain denies, also to who is at its limit.
	g.settings.ClientSessions = 1
	g.in(func() error { _, err := g.data.SetPolicy(g.settings, g.services, nil); return err })
	g.lend(pool1, 80, service, nil)
	g.visits(client)
	g.chained([]nf.Rule{{Direction: model.In}}, []nf.Step{{Number: 1, Function: filter.Filter{Deny: []nf.Rule{{}}}}})
	g.dropped(g.put(syn(client2)), "drop_denied")
	g.dropped(g.put(syn(endpoint(remote, 50001))), "drop_denied")
	g.settings.Refuse = false
	g.in(func() error { _, err := g.data.SetPolicy(g.settings, g.services, nil); return err })
	g.dropped(g.put(syn(client2)), "drop_no_reservation")
	g.dropped(g.put(syn(endpoint(remote, 50001))), "drop_client_limit")
	g.dropped(g.put(udp(client2, lent)), "drop_no_binding")
	same(g, "refusals", must(g.data.Usage())(t).Refusals, 0)
}

// A client at its limit is told, also by the proof that finds the last place taken; the host of
// that connection forgets it.
func TestRefusalsAtTheLimitOfAClient(t *testing.T) {
	t.Parallel()
	const most = 2
	g := newGateway(t, refusing, timeouts(func(s *datapath.Settings) { s.ClientSessions = most }))
	b := g.bind(pool1, hostA, tcpPort(80, 8080), model.Port{Protocol: model.UDP, Port: 80, To: 8080})
	g.reserve(b, nil)
	late := endpoint(remote, 50001)
	g.visits(client)
	g.knocks(late)
	g.answers(late, lent, service)
	g.visits(endpoint(remote, 50002))
	g.reset(g.put(proof(late, lent)), proof(late, lent), "drop_client_limit")
	again := segment(service, late, synAck, hostISN, clientISN+1)
	g.reset(g.put(again), again, "drop_not_syn")
	p := syn(endpoint(remote, 50003))
	g.reset(g.put(p), p, "drop_client_limit")
	for n := range uint16(most) {
		g.forwarded(g.put(udp(endpoint(remote, 50000+n), lent)))
	}
	u := udp(endpoint(remote, 50003), lent)
	g.unreachablePort(g.put(u), u, "drop_client_limit")
	g.count(2 * most)
	g.sound()
}

// A host inside that is at its limit with another by name is told by the way of its answers.
func TestRefusalAtTheLimitOfAHairpin(t *testing.T) {
	t.Parallel()
	g := newGateway(t, refusing, timeouts(func(s *datapath.Settings) { s.ClientSessions = 1 }))
	host, second := endpoint(hostB, 8080), endpoint(hostA, 40002)
	seen := endpoint(outbound, inA.Port())
	g.lend(pool1, 80, host, nil)
	g.leaves(g.put(tcp(inA, lent, packets.SYN)), tcp(seen, host, packets.SYN))
	g.leaves(g.put(segment(host, seen, synAck, hostISN, 1)), segment(lent, inA, synAck, hostISN, 1))
	g.leaves(g.put(proof(inA, lent)), proof(seen, host))
	r := g.put(segment(second, lent, packets.SYN, 7, 0))
	same(g, "reason", r.reason, "drop_client_limit")
	g.leavesRST(r, segment(lent, second, packets.RST|packets.ACK, 0, 8))
}

// The honeypot comes first: what it drops is no stranger to it.
func TestHoneypotComesBeforeRefusals(t *testing.T) {
	t.Parallel()
	g := newGateway(t, refusing)
	g.protected(nf.Addresses{})
	before := g.counters()["answered_honeypot"]
	g.put(tcp(client, endpoint(pool1, 23), packets.SYN))
	same(g, "answers of the honeypot", g.counters()["answered_honeypot"]-before, 1)
	same(g, "refusals", must(g.data.Usage())(t).Refusals, 0)
}

// A host inside that asks for another by name is told, too: by the way of its answers.
func TestRefusalsOfHairpins(t *testing.T) {
	t.Parallel()
	g := newGateway(t, refusing)
	p := segment(inA, lent, packets.SYN, 7, 0)
	r := g.put(p)
	same(g, "reason", r.reason, "drop_no_binding")
	g.leavesRST(r, segment(lent, inA, packets.RST|packets.ACK, 0, 8))
	u := udp(inB, lent)
	r = g.put(u)
	if r.action != dataplane.Redirect || r.packet.ICMP == nil || r.packet.ICMP.Code != 3 || r.packet.IPv4.Destination != hostB {
		t.Fatalf("%v, %s: %s", r.action, r.reason, r.packet)
	}
}

// leavesRST wants an RST to be sent to a host inside.
func (g *gateway) leavesRST(r result, want packets.Packet) {
	g.t.Helper()
	p := r.packet
	if r.action != dataplane.Redirect || p.TCP == nil || p.Tuple() != want.Tuple() || p.TCP.Flags != want.TCP.Flags ||
		p.TCP.Sequence != want.TCP.Sequence || p.TCP.Acknowledge != want.TCP.Acknowledge {
		g.t.Fatalf("%v, %s: %s, want %s", r.action, r.reason, p, want)
	}
}

// A host's SYN and ACK whose client is gone gets an RST, so that the host forgets it; nothing
// else from inside does.
func TestRSTToAHost(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	p := segment(service, client, synAck, hostISN, clientISN+1)
	g.reset(g.put(p), p, "drop_not_syn")
	for _, flags := range []packets.Flags{packets.ACK, packets.RST, packets.FIN | packets.ACK, packets.RST | packets.ACK} {
		g.dropped(g.put(tcp(service, client, flags)), "drop_not_syn")
	}
}

// One source has its budget, and the gateway has one for all.
func TestBudgetsOfRefusals(t *testing.T) {
	t.Parallel()
	const each, all = 64, 2048 // REFUSALS_OF_A_SOURCE, REFUSALS_PER_TICK
	g := newGateway(t, refusing)
	told := func(n int, from func(int) netip.AddrPort) (refused int) {
		frames := make([][]byte, n)
		for i := range frames {
			frames[i] = outside(syn(from(i))).Bytes()
		}
		g.in(func() error {
			for range 100 { // until all were within one tick
				before := must(g.data.Usage())(t).Refusals
				at := g.tick()
				for _, frame := range frames {
					if _, _, err := g.inject(true, g.public, frame); err != nil {
						return err
					}
				}
				if g.tick() == at {
					refused = int(must(g.data.Usage())(t).Refusals - before)
					return nil
				}
				time.Sleep(dataplane.Tick - time.Duration(datapath.Now()%model.Instant(dataplane.Tick))) // to the next one's beginning
			}
			return errors.New("the machine never has a quarter of a second")
		})
		return refused
	}
	if n := told(3*each, func(int) netip.AddrPort { return client }); n != each {
		t.Errorf("one source is told %d times, want %d", n, each)
	}
	time.Sleep(dataplane.Tick)
	many := func(n int) netip.AddrPort {
		return endpoint(netip.AddrFrom4([4]byte{100, byte(n >> 8), byte(n), 1}), 5)
	}
	if n := told(2*all, many); n != all {
		t.Errorf("all sources are told %d times, want %d", n, all)
	}
}
