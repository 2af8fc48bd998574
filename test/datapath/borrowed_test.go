package datapath

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// pour puts packets in one after the other, whatever becomes of them.
func (g *gateway) pour(public bool, count int, packet func(n int) packets.Packet) {
	g.t.Helper()
	ifindex := g.private
	if public {
		ifindex = g.public
	}
	g.in(func() error {
		for n := range count {
			if _, _, err := g.inject(public, ifindex, addressed(packet(n)).Bytes()); err != nil {
				return err
			}
		}
		return nil
	})
}

// sized is a table as the gateway makes it: with a reserve, and the limits that are a share of it.
func sized(sessions int) option {
	return func(s *setup) {
		s.Capacity, s.Reserve = sessions, sessions/16
		s.Limits = datapath.Limits{
			HostSessions: sessions / 16, HostPorts: datapath.ProtocolLimits{UDP: 16384, TCP: 16384, ICMP: 16384},
			RemoteSessions: sessions / 32, MappingSessions: 1024,
		}
	}
}

const (
	ordinary = 100 // ordinary hosts, or clients
	through  = 99  // of them, at least
)

// ordinaryHosts open a session by a mapping, and one more by the same one, while a flood goes on; how many get through.
func (g *gateway) ordinaryHosts(goesOn func()) (passed int) {
	g.t.Helper()
	for n := range ordinary {
		from := endpoint(host(60_000+n), uint16(7000+n))
		first, second := g.put(udp(from, server)), g.put(udp(from, server2))
		if first.reason == "forwarded" && second.reason == "forwarded" {
			passed++
		}
		goesOn()
	}
	return passed
}

// forgotten wants nothing left of all that was open.
func (g *gateway) forgotten() {
	g.t.Helper()
	g.sound()
	g.idle(301 * time.Second)
	g.idle(121 * time.Second)
	census := g.census()
	same(g, "hosts left", census.Subscribers, 0)
	same(g, "mappings left", census.Mappings, 0)
}

// A host that sends in its neighbours' names has the limit of each, and yet never all: the fewer are left, the fewer are for
// whoever has some. Ordinary hosts get in, whatever the number of borrowed addresses.
func TestBorrowedAddresses(t *testing.T) {
	t.Parallel()
	const sessions, ports, limit = 1 << 14, 65536 - 1024, 16384
	for _, c := range []struct {
		addresses    int
		sessionsLeft float64 // of what hosts inside may have: 1 / (1 + addresses / 4), unless their limits leave more
	}{{5, 1 - 5.0/15}, {16, 1.0 / 5}, {64, 1.0 / 17}} {
		portsLeft := 1 / (1 + float64(c.addresses)*limit/(ports-limit)) // the limit is a quarter of all
		run := func(what string, left float64, of int, option option, flooded int, packet func(n int) packets.Packet, used func(g *gateway) int) {
			t.Run(fmt.Sprintf("%s, %d addresses", what, c.addresses), func(t *testing.T) {
				t.Parallel()
				g := newGateway(t, filtering(model.EndpointIndependent), option)
				g.pour(false, flooded, packet)
				remains := float64(of-used(g)) / float64(of)
				passed := g.ordinaryHosts(func() { g.pour(false, c.addresses, packet) })
				t.Logf("%.3f are left, %d of %d pass", remains, passed, ordinary)
				if passed < through {
					t.Errorf("%d of %d ordinary hosts got through, want %d", passed, ordinary, through)
				}
				if remains < 0.98*left || remains > 1.02*left {
					t.Errorf("%.3f are left, want %.3f", remains, left)
				}
				g.forgotten()
			})
		}
		run("sessions", c.sessionsLeft, sessions-sessions/16, sized(sessions), 24_000, func(n int) packets.Packet {
			return udp(endpoint(host(n%c.addresses), 5000), endpoint(remote2, uint16(1+n/c.addresses)))
		}, func(g *gateway) int { return int(must(g.data.Usage())(g.t).Sessions) })
		ample := func(s *setup) {
			sized(1 << 17)(s)
			s.Limits.HostSessions = 1 << 16
		}
		run("ports", portsLeft, ports, ample, 100_000, func(n int) packets.Packet {
			return udp(endpoint(host(n%c.addresses), uint16(1024+n/c.addresses)), endpoint(remote2, 53))
		}, func(g *gateway) int { return int(must(g.data.Usage())(g.t).Mappings) })
	}
}

// However many take all that they may, and however far above all their limit is set, something is left for who has nothing
// yet; one alone has its limit, or seven eighths of all. Without a limit nothing need be left.
func TestRoomIsNeverUsedUp(t *testing.T) {
	t.Parallel()
	const sessions, most, above, none = 1 << 12, 1<<12 - 1<<8, 1 << 30, 0
	for _, c := range []struct{ addresses, limit, left int }{
		{1, 1500, most - 1500}, {1, above, most / 8}, {16, 100, most - 1600}, {16, 400, most / 5}, {64, 400, most / 17},
		{16, above, most / (1 + 16*7)}, {256, above, most / (1 + 256*7)}, {1, none, 0}, {16, none, 0},
	} {
		t.Run(fmt.Sprintf("%d with a limit of %d", c.addresses, c.limit), func(t *testing.T) {
			t.Parallel()
			g := newGateway(t, filtering(model.EndpointIndependent), sized(sessions), limited(func(l *datapath.Limits) { l.HostSessions = c.limit }))
			g.pour(false, 2*most, func(n int) packets.Packet {
				return udp(endpoint(host(n%c.addresses), 5000), endpoint(remote2, uint16(1+n/c.addresses)))
			})
			left := most - int(must(g.data.Usage())(t).Sessions)
			if left < c.left*98/100 || left > c.left*102/100+1 {
				t.Errorf("%d of %d are left, want %d", left, most, c.left)
			}
			want := model.Reason("forwarded")
			if left == 0 {
				want = "drop_session_table_full"
			}
			same(g, "who comes now", g.put(udp(endpoint(host(60_000), 7000), server)).reason, want)
		})
	}
}

// somebody is one of many outside.
func somebody(n int) netip.Addr { return netip.AddrFrom4([4]byte{203, 1, byte(n >> 8), byte(n)}) }

// anybody may come to an address that everything of a host is bound to.
func (g *gateway) anybody() datapath.Binding {
	g.t.Helper()
	b := g.bind(pool1, hostA, everything)
	g.reserve(b, func(r *datapath.Reservation) { r.Claims = 65_535 })
	return b
}

// knockAt is a datagram that opens a session from outside.
func knockAt(from netip.Addr, port uint16) packets.Packet {
	return udp(endpoint(from, port), endpoint(pool1, 5000))
}

// The same for clients outside, who have as many addresses as they have.
func TestManyRemotes(t *testing.T) {
	t.Parallel()
	for _, addresses := range []int{5, 16, 64} {
		t.Run(fmt.Sprint(addresses, " addresses"), func(t *testing.T) {
			t.Parallel()
			g := newGateway(t, sized(1<<14))
			g.anybody()
			knock := func(n int) packets.Packet { return knockAt(somebody(n%addresses), uint16(1024+n/addresses)) }
			g.pour(true, 24_000, knock)
			passed := 0
			for n := range ordinary {
				if g.put(knockAt(somebody(1000+n), 5000)).reason == "forwarded" {
					passed++
				}
				g.pour(true, addresses, knock)
			}
			if passed < through {
				t.Errorf("%d of %d ordinary clients got through, want %d", passed, ordinary, through)
			}
			g.forgotten()
		})
	}
}

// What cannot be counted, as the table of remote addresses is full, has half of the sessions at most: the rest is for those
// who are counted, and for the hosts inside.
func TestUncountedRemotes(t *testing.T) {
	t.Parallel()
	const sessions, most = 1 << 12, 1<<12 - 1<<8 // and what a side may have
	g := newGateway(t, sized(sessions), func(s *setup) { s.Remotes = 64 })
	b := g.anybody()
	counted := somebody(0)
	g.forwarded(g.put(knockAt(counted, 1)))
	g.pour(true, 8000, func(n int) packets.Packet { return knockAt(somebody(n), 5000) })
	same(g, "sessions", must(g.data.Usage())(t).Sessions, most/2+1)
	g.dropped(g.put(knockAt(somebody(9000), 5000)), "drop_remote_sessions")
	for n := range uint16(ordinary) {
		g.forwarded(g.put(knockAt(counted, 100+n)))
	}
	if passed := g.ordinaryHosts(func() {}); passed < through {
		t.Errorf("%d of %d hosts inside got through", passed, ordinary)
	}
	g.forgotten()
	g.reserve(b, nil)
	g.forwarded(g.put(knockAt(somebody(9000), 5000)))
}

// The same for hosts inside that are not counted: half of the sessions, and half of the ports of an outbound address.
func TestUncountedHosts(t *testing.T) {
	t.Parallel()
	few := func(s *setup) { s.Subscribers = 64 }
	g := newGateway(t, sized(1<<12), few)
	counted := endpoint(host(0), 5000)
	g.mapped(udp(counted, server))
	flood := func(n int) packets.Packet { return udp(endpoint(host(n), 5000), server) }
	g.pour(false, 8000, flood)
	same(g, "sessions", must(g.data.Usage())(t).Sessions, (1<<12-1<<8)/2+1)
	same(g, "reason", g.put(flood(9000)).reason, "drop_host_sessions")
	for n := range uint16(ordinary) {
		g.mapped(udp(counted, endpoint(remote2, 1+n)))
	}
	g.anybody()
	for n := range ordinary {
		g.forwarded(g.put(knockAt(somebody(n), 5000)))
	}
	g.forgotten()

	g = newGateway(t, sized(1<<17), few)
	g.mapped(udp(counted, server))
	g.pour(false, 40_000, flood)
	same(g, "mappings", must(g.data.Usage())(t).Mappings, (65536-1024)/2+1)
	same(g, "reason", g.put(flood(50_000)).reason, "drop_host_ports")
	g.mapped(tcp(endpoint(host(50_000), 5000), web, packets.SYN)) // of which there are enough
	g.mapped(udp(endpoint(host(0), 6000), server))
	g.forgotten()
}

// How many ports are taken is known to the next daemon, and is right again when an address has gone and another has its slot.
func TestPortsAreCountedThroughChanges(t *testing.T) {
	t.Parallel()
	g := newGateway(t, filtering(model.EndpointIndependent), sized(1<<17))
	g.pour(false, 20_000, func(n int) packets.Packet { return udp(endpoint(hostA, uint16(500+n)), server) })
	g.sound()
	g.reopen()
	g.sound()
	same(g, "ports of the host", g.subscriber(hostA).UDP, 8192)
	g.outbounds(nth(1))
	g.sound()
	g.mapped(udp(inB, server))
	g.outbounds(outbound)
	g.idle(121 * time.Second)
	g.in(func() error { return g.data.TendSlots() })
	g.mapped(udp(inB, server))
	g.forgotten()
}

// A limit that is set for more than a fifth of all holds for a host alone; on an address with sockets of the gateway all is
// less.
func TestLimitOfOneHostAlone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options []option
		limit   int
		want    int
	}{
		"as set by default":             {nil, 16384, 16384},
		"set for more":                  {nil, 50_000, 50_000},
		"shared address":                {[]option{shared}, 16384, 16384},
		"more than all of a shared one": {[]option{shared}, 50_000, (65536 - 1024 - 28232) * 7 / 8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGateway(t, append(c.options, filtering(model.EndpointIndependent), sized(1<<17), limited(func(l *datapath.Limits) {
				l.HostSessions, l.HostPorts.UDP = 1<<16, c.limit
			}))...)
			g.pour(false, 60_000, func(n int) packets.Packet { return udp(endpoint(hostA, uint16(1024+n)), server) })
			same(g, "ports", g.subscriber(hostA).UDP, c.want)
			g.mapped(udp(inB, server))
		})
	}
}
