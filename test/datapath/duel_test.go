package datapath

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// way is a set of ports that a service of the test has.
type way struct {
	address netip.Addr
	ports   []model.Port
}

var ways = []way{
	{pool1, []model.Port{tcpPort(80, 8080), {Protocol: model.UDP, Port: 80, To: 80}}},
	{pool1, []model.Port{tcpPort(443, 5000), {Protocol: model.ICMP}}},
	{pool1, []model.Port{tcpPort(8080, 80), {Protocol: model.UDP, Port: 5000, To: 5000}}},
	{pool2, []model.Port{everything}},
}

// waysOfOne are those where an outbound address is of the pool.
var waysOfOne = []way{
	{outbound, []model.Port{tcpPort(80, 8080), {Protocol: model.UDP, Port: 80, To: 80}}},
	{outbound, []model.Port{tcpPort(443, 5000)}},
	{outbound, []model.Port{tcpPort(8080, 80), {Protocol: model.UDP, Port: 5000, To: 5000}}},
	{pool2, []model.Port{everything}},
}

// move binds one of the services to a host, after who was there, or to none.
func (d *duel) move() {
	way := choose(d.r, d.ways...)
	host := choose(d.r, hostA, hostB)
	if old := d.model.bound[public{way.address, way.ports[0].Protocol, way.ports[0].Port}]; old != nil {
		d.unbind(datapath.Binding{ID: old.id, Address: old.address, Ports: old.ports})
		old.open = false
		for _, p := range old.ports {
			delete(d.model.bound, public{old.address, p.Protocol, p.Port})
		}
		if d.r.IntN(4) == 0 {
			return
		}
	}
	if _, found := d.vacant(); !found {
		return
	}
	b := d.bind(way.address, host, way.ports...)
	m := &modelBinding{id: b.ID, host: host, ports: way.ports, address: way.address, open: true}
	for _, p := range way.ports {
		d.model.bound[public{way.address, p.Protocol, p.Port}] = m
	}
}

// someBinding is one that stands.
func (d *duel) someBinding() *modelBinding {
	way := choose(d.r, d.ways...)
	return d.model.bound[public{way.address, way.ports[0].Protocol, way.ports[0].Port}]
}

// answer reserves a binding, for each asker once.
func (d *duel) answer() {
	b := d.someBinding()
	who := choose(d.r, asker, asker, remote, remote2, router)
	if b == nil || len(b.reservations) > 3 || slices.ContainsFunc(b.reservations, func(r *modelReservation) bool { return r.asker == who }) {
		return
	}
	l := &modelReservation{asker: who, left: 1 + d.r.IntN(3), merged: d.r.IntN(5)}
	if d.r.IntN(4) == 0 {
		l.source = netip.PrefixFrom(choose(d.r, remote, router), 24).Masked()
	}
	l.id = d.reserve(datapath.Binding{ID: b.id}, func(r *datapath.Reservation) {
		r.Asker, r.Claims, r.Merged, r.Window, r.Source = who, l.left, l.merged, time.Minute, l.source
	}).ID
	b.reservations = append(b.reservations, l)
}

func (d *duel) withdraw() {
	b := d.someBinding()
	if b == nil || len(b.reservations) == 0 {
		return
	}
	at := d.r.IntN(len(b.reservations))
	l := b.reservations[at]
	became := must(d.data.Withdraw(l.id))(d.t)
	if became.Left != l.left {
		d.t.Fatalf("step %d: %d claims left, want %d", d.step, became.Left, l.left)
	}
	if _, err := d.data.Withdraw(l.id); !errors.Is(err, datapath.ErrSpent) {
		d.t.Fatalf("step %d: a reservation withdrawn twice: %v", d.step, err)
	}
	b.reservations = slices.Delete(b.reservations, at, at+1)
}

// knock is the first packet of a client that has not been here before, to a port that is bound.
func (d *duel) knock() {
	b := d.someBinding()
	if b == nil {
		return
	}
	to := netip.AddrPortFrom(b.address, max(b.ports[0].Port, 22))
	from := netip.AddrPortFrom(choose(d.r, remote, remote2, router, never), uint16(1024+d.r.IntN(60000)))
	d.in(d.packet(model.TCP, from, to, true))
}

// someSession is one that is meant, or nil.
func (d *duel) someSession(meant func(*modelSession) bool) *modelSession {
	var list []*modelSession
	for _, s := range d.model.sessions {
		if meant(s) && !s.hairpin {
			list = append(list, s)
		}
	}
	if len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, func(a, b *modelSession) int {
		return strings.Compare(fmt.Sprint(a.private, a.remote), fmt.Sprint(b.private, b.remote))
	})
	return choose(d.r, list...)
}

// crowd is a client that connects more often than a known one may, and does it all as
// one should.
func (d *duel) crowd() {
	b := d.someBinding()
	if b == nil || b.ports[0].Protocol == model.ICMP {
		return
	}
	from, to := choose(d.r, asker, remote, remote2), netip.AddrPortFrom(b.address, max(b.ports[0].Port, 22))
	for range d.model.most + 1 {
		client := netip.AddrPortFrom(from, uint16(1024+d.r.IntN(60000)))
		d.in(packets.NewTCP(client, to, packets.SYN, ""))
		s := d.model.claimed[pair{model.TCP, to, client}]
		if s == nil || !s.tentative() {
			continue
		}
		d.out(packets.NewTCP(s.private, client, synAck, ""))
		p := packets.NewTCP(client, to, packets.ACK, "")
		p.TCP.Acknowledge = s.pool.expected
		d.in(p)
	}
}

// shake goes on with a handshake: mostly as its host and its client would.
func (d *duel) shake() {
	s := d.someSession((*modelSession).tentative)
	if s == nil {
		return
	}
	if s.state == "syn" || d.r.IntN(4) == 0 {
		p := packets.NewTCP(s.private, s.remote, choose(d.r, synAck, synAck, packets.SYN, packets.ACK), string(make([]byte, d.r.IntN(3))))
		p.TCP.Sequence = choose(d.r, d.r.Uint32(), s.pool.expected-1, s.pool.sent)
		d.out(p)
		return
	}
	p := packets.NewTCP(s.remote, s.external, choose(d.r, packets.ACK, packets.ACK, synAck, packets.ACK|packets.FIN), string(make([]byte, d.r.IntN(3))))
	p.TCP.Acknowledge = choose(d.r, s.pool.expected, s.pool.sent, s.pool.expected-1, s.pool.sent+1)
	d.in(p)
}

// settle ends tentative sessions before their time does, as the model knows none, and before a binding has no place for
// another, as the model knows no cookies: overflow_test.go does. One step opens at most 4 of a binding, of whose ring the
// data plane looks at 8 places.
func (d *duel) settle() {
	const most = 3
	waiting := slices.Collect(maps.Values(d.model.sessions))
	waiting = slices.DeleteFunc(waiting, func(s *modelSession) bool { return !s.tentative() })
	slices.SortFunc(waiting, func(a, b *modelSession) int { return b.pool.since.Compare(a.pool.since) }) // the last first
	of := map[uint32]int{}
	for _, s := range waiting {
		slot := uint32(s.pool.binding.id)
		if of[slot]++; of[slot] <= most && time.Since(s.pool.since) < 2*time.Second {
			continue
		}
		n := must(d.data.EndSessions(func(found datapath.Session) bool {
			return found.Private == s.private && found.Remote == s.remote && found.Protocol == s.protocol
		}))(d.t)
		same(d.gateway, "tentative sessions ended", n, 1)
		d.model.end(s)
	}
}

// errorAbout sends an ICMP error about a session, from either side.
func (d *duel) errorAbout(key pair) {
	s := d.model.sessions[key]
	if s == nil || s.hairpin || key.protocol == model.ICMP {
		return
	}
	quote := func(from, to netip.AddrPort) packets.Packet {
		if key.protocol == model.UDP {
			return packets.NewUDP(from, to, "quoted")
		}
		return packets.NewTCP(from, to, packets.ACK, "quoted")
	}
	keep := choose(d.r, 8, 12, -1)
	message := func(from, to netip.Addr, original packets.Packet) packets.Packet {
		return packets.NewICMPError(from, to, packets.DestinationUnreachable, 3, 0, original, keep)
	}
	if d.r.IntN(2) == 0 {
		p := message(router, s.external.Addr(), quote(s.external, s.remote))
		d.expect(p, d.fromOutside(outside(p)), func() fate {
			return forwarded(outside(message(router, s.private.Addr(), quote(s.private, s.remote))), d.model.neighbours[s.private.Addr()])
		})
		return
	}
	p := message(s.private.Addr(), s.remote.Addr(), quote(s.remote, s.private))
	d.expect(p, d.fromInside(inside(p)), func() fate {
		return forwarded(inside(message(s.external.Addr(), s.remote.Addr(), quote(s.remote, s.external))), packets.RouterMAC)
	})
}
