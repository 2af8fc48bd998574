package datapath

import (
	"errors"
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/packets"
)

// offer lends an address as the pool would: service ports of pool1 to any
// host, pool2 whole to one.
func (d *duel) offer() {
	slot := d.r.IntN(4)
	if d.model.reservations[slot] != nil {
		return
	}
	l := &modelReservation{address: pool1, protocol: choose(d.r, model.TCP, model.UDP), host: choose(d.r, hostA, hostB), left: 1 + d.r.IntN(3)}
	l.port, l.hostPort = []uint16{80, 443, 8080, 0}[slot], []uint16{0, 5000, 80, 0}[slot]
	if slot == 3 {
		l.address, l.protocol, l.hostPort = pool2, 0, 0
	}
	if slot == 0 {
		l.protocol = model.TCP
	}
	d.next++
	offered := datapath.Reservation{
		ID: d.next<<32 | uint64(slot), Address: l.address, Protocol: l.protocol, Port: l.port, Host: l.host, HostPort: l.hostPort,
		Expires: datapath.Now().Add(time.Hour), Claims: l.left,
	}
	if d.r.IntN(2) == 0 {
		offered.Again, l.merged, l.claimers = time.Hour, 4, map[netip.Addr]bool{}
	}
	check(d.t, d.data.Offer(offered))
	l.id = offered.ID
	d.model.reservations[slot] = l
}

func (d *duel) withdraw() {
	slot := d.r.IntN(4)
	l := d.model.reservations[slot]
	if l == nil {
		return
	}
	became := must(d.data.Withdraw(l.id))(d.t)
	if became.Left != l.left {
		d.t.Fatalf("step %d: %d claims left, want %d", d.step, became.Left, l.left)
	}
	if _, err := d.data.Withdraw(l.id); !errors.Is(err, datapath.ErrSpent) {
		d.t.Fatalf("step %d: a reservation withdrawn twice: %v", d.step, err)
	}
	delete(d.model.reservations, slot)
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
