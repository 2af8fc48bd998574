package datapath

import (
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// basics are the protocols that are translated by address alone, each with what a packet of it may be. The sums of two of
// them cover the addresses.
var basics = map[string]func(from, to netip.Addr) packets.Packet{
	"IPIP": func(from, to netip.Addr) packets.Packet {
		return packets.NewIP(from, to, model.IPIP, udp(endpoint(hostA, 1), server).Network())
	},
	"DCCP": func(from, to netip.Addr) packets.Packet {
		return packets.NewDCCP(endpoint(from, 5000), endpoint(to, 6000), 2, repeated(7, 30))
	},
	"6in4": func(from, to netip.Addr) packets.Packet {
		return packets.NewIP(from, to, model.SixIn4, packets.NewUDP(packets.At("[2001:db8::1]:5"), packets.At("[2001:db8::2]:6"), "x").Network())
	},
	"GRE":  func(from, to netip.Addr) packets.Packet { return packets.NewIP(from, to, model.GRE, repeated(0, 8)) },
	"ESP":  func(from, to netip.Addr) packets.Packet { return packets.NewIP(from, to, model.ESP, repeated(9, 32)) },
	"SCTP": func(from, to netip.Addr) packets.Packet { return packets.NewIP(from, to, model.SCTP, repeated(8, 20)) },
	"UDP-Lite": func(from, to netip.Addr) packets.Packet {
		return packets.NewCovered(endpoint(from, 5000), endpoint(to, 6000), 0, repeated(5, 33))
	},
	"UDP-Lite, header alone": func(from, to netip.Addr) packets.Packet {
		return packets.NewCovered(endpoint(from, 5000), endpoint(to, 6000), 8, repeated(5, 33))
	},
	"UDP-Lite, some of it": func(from, to netip.Addr) packets.Packet {
		return packets.NewCovered(endpoint(from, 5000), endpoint(to, 6000), 13, repeated(5, 33))
	},
}

// eachBasic runs a test for each of them, and ends what it leaves.
func eachBasic(t *testing.T, options func() []option, test func(g *gateway, p func(from, to netip.Addr) packets.Packet)) {
	t.Helper()
	t.Parallel()
	g := newGateway(t, options()...)
	for _, name := range slices.Sorted(maps.Keys(basics)) {
		t.Log(name)
		test(g, basics[name])
		g.census()
		for _, b := range g.bound {
			g.unbind(b)
		}
		g.oneToOne(nil)
		must(g.data.EndSessions(func(datapath.Session) bool { return true }))(t)
	}
}

func plainly() []option { return nil }

// By an outbound address: one host inside for each remote address, whoever comes first.
func TestBasicOut(t *testing.T) {
	eachBasic(t, plainly, func(g *gateway, p func(from, to netip.Addr) packets.Packet) {
		g.dropped(g.put(p(remote, outbound)), "drop_no_session")
		g.leaves(g.put(p(hostA, remote)), p(outbound, remote))
		g.leaves(g.put(p(remote, outbound)), p(remote, hostA))
		g.leaves(g.put(p(hostA, remote)), p(outbound, remote))
		s := g.sessions()[0]
		same(g, "origin", s.Origin, "basic")
		same(g, "protocol", s.Protocol, p(hostA, remote).IPv4.Protocol)
		same(g, "private", s.Private, endpoint(hostA, 0))
		same(g, "external", s.External, endpoint(outbound, 0))
		same(g, "remote", s.Remote, endpoint(remote, 0))
		// A second host to the same remote address, and to another.
		g.unreachable(p(hostB, remote), "drop_session_conflict")
		g.leaves(g.put(p(hostB, remote2)), p(outbound, remote2))
		g.leaves(g.put(p(remote2, outbound)), p(remote2, hostB))
		g.count(2)
		same(g, "mappings", g.census().Mappings, 0)
		same(g, "what the host has", g.subscriber(hostA), datapath.Subscriber{Sessions: 1})
		same(g, "what the other has", g.subscriber(hostB), datapath.Subscriber{Sessions: 1})
		g.idle(time.Hour)
		g.idle(time.Minute)
		census := g.census()
		same(g, "sessions", census.Sessions+census.Resting, 0)
		same(g, "subscribers", census.Subscribers, 0)
		g.leaves(g.put(p(hostB, remote)), p(outbound, remote)) // the first has gone
	})
}

// By an address that is the host's alone, both ways, and by no other host.
func TestBasicOneToOne(t *testing.T) {
	eachBasic(t, plainly, func(g *gateway, p func(from, to netip.Addr) packets.Packet) {
		g.oneToOne(map[netip.Addr]netip.Addr{hostA: alone, hostB: alone2})
		g.leaves(g.put(p(hostA, remote)), p(alone, remote))
		g.leaves(g.put(p(remote, alone)), p(remote, hostA))
		g.leaves(g.put(p(remote2, alone)), p(remote2, hostA))
		g.leaves(g.put(p(hostA, remote2)), p(alone, remote2))
		g.leaves(g.put(p(hostB, remote)), p(alone2, remote))
		origins := map[string]int{}
		for _, s := range g.sessions() {
			origins[s.Origin]++
		}
		same(g, "sessions from inside", origins["own"], 2)
		same(g, "sessions from outside", origins["own_in"], 1)
		// One host reaches the other by its public address.
		g.leaves(g.put(p(hostA, alone2)), p(alone, hostB))
		g.leaves(g.put(p(hostB, alone)), p(alone2, hostA))
	})
}

// To destinations without NAT, and back.
func TestBasicExcept(t *testing.T) {
	eachBasic(t, func() []option { return []option{except(farSite)} }, func(g *gateway, p func(from, to netip.Addr) packets.Packet) {
		g.untranslated(p(hostA, far.Addr()), p(far.Addr(), hostA), p(hostB, far.Addr()), p(far.Addr(), hostB))
		g.dropped(g.put(p(farHop, hostA)), "drop_not_for_us")
		g.leaves(g.put(p(hostA, remote)), p(outbound, remote))
		g.count(3)
	})
}

// By the name of a whole host: a packet claims, and the session is bound by the limits of others.
func TestBasicByName(t *testing.T) {
	eachBasic(t, plainly, func(g *gateway, p func(from, to netip.Addr) packets.Packet) {
		g.dropped(g.put(p(remote, pool1)), "drop_no_binding")
		g.lend(pool1, 80, service, nil)
		g.dropped(g.put(p(remote, pool1)), "drop_no_binding")
		g.lend(pool2, 0, endpoint(hostB, 0), nil)
		g.leaves(g.put(p(remote, pool2)), p(remote, hostB))
		g.leaves(g.put(p(hostB, remote)), p(pool2, remote))
		g.leaves(g.put(p(remote, pool2)), p(remote, hostB))
		g.dropped(g.put(p(remote2, pool2)), "drop_no_reservation")
		same(g, "origin", g.sessions()[0].Origin, "pool")
		// What goes out to others has the outbound address.
		g.leaves(g.put(p(hostB, remote2)), p(outbound, remote2))
		// From inside it is reached by its name, too.
		g.lend(pool2, 0, endpoint(hostB, 0), nil)
		g.leaves(g.put(p(hostA, pool2)), p(outbound, hostB))
		g.leaves(g.put(p(hostB, outbound)), p(pool2, hostA))
	})
}

// Who may open nothing is told that the protocol is not there.
func TestBasicRefused(t *testing.T) {
	eachBasic(t, func() []option { return []option{refusing} }, func(g *gateway, p func(from, to netip.Addr) packets.Packet) {
		out := p(remote, pool1)
		g.refused(g.put(out), out, "drop_no_binding", pool1, packets.DestinationUnreachable, 2, 0)
	})
}

// Errors about such packets come to who sent them, from both sides.
func TestBasicICMPErrors(t *testing.T) {
	eachBasic(t, func() []option { return []option{except(farSite)} }, func(g *gateway, p func(from, to netip.Addr) packets.Packet) {
		g.lend(pool2, 0, endpoint(hostB, 0), nil)
		g.put(p(hostA, remote))
		g.put(p(remote2, pool2))
		g.put(p(hostA, far.Addr()))
		for _, keep := range []int{8, 12, -1} {
			about := func(from, to netip.Addr, quoted packets.Packet) packets.Packet {
				return packets.NewICMPError(from, to, packets.DestinationUnreachable, 4, 1400, quoted, keep)
			}
			g.leaves(g.put(about(hop, outbound, p(outbound, remote))), about(hop, hostA, p(hostA, remote)))
			g.leaves(g.put(about(hostA, remote, p(remote, hostA))), about(outbound, remote, p(remote, outbound)))
			g.leaves(g.put(about(hostB, remote2, p(remote2, hostB))), about(pool2, remote2, p(remote2, pool2)))
			g.leaves(g.put(about(hop, pool2, p(pool2, remote2))), about(hop, hostB, p(hostB, remote2)))
			g.leaves(g.put(about(farHop, hostA, p(hostA, far.Addr()))), about(farHop, hostA, p(hostA, far.Addr())))
			g.dropped(g.put(about(hop, outbound, p(outbound, remote2))), "drop_no_session")
		}
	})
}

// A sender inside is told what keeps its packet from going on.
func TestBasicErrorsToSender(t *testing.T) {
	eachBasic(t, plainly, func(g *gateway, p func(from, to netip.Addr) packets.Packet) {
		late := p(hostA, remote).Change(func(p *packets.Packet) { p.IPv4.TTL = 1 })
		g.refused(g.put(late), late, "drop_ttl_expired", privateAddress, packets.TimeExceeded, 0, 0)
		g.leaves(g.put(p(hostA, remote)), p(outbound, remote))
		g.refused(g.put(late), late, "drop_ttl_expired", privateAddress, packets.TimeExceeded, 0, 0)
	})
}

// The first fragment is judged as a packet is; where its header is cut makes no difference.
func TestBasicFragments(t *testing.T) {
	eachBasic(t, plainly, func(g *gateway, p func(from, to netip.Addr) packets.Packet) {
		through := func(from, to, outFrom, outTo netip.Addr, id uint16) {
			g.t.Helper()
			cut := func(p packets.Packet) []packets.Packet {
				return p.Change(func(p *packets.Packet) {
					p.IPv4.ID, p.IPv4.DF = id, false
					p.Payload = append(p.Payload, repeated(3, 48)...)
				}).Fragments(16)
			}
			in, want := cut(p(from, to)), cut(p(outFrom, outTo))
			var number uint16
			for i := range in {
				r := g.put(in[i])
				if out := g.forwarded(r); i == 0 {
					number = out.IPv4.ID
				}
				g.leaves(r, want[i].Change(func(p *packets.Packet) { p.IPv4.ID = number }))
			}
		}
		through(hostA, remote, outbound, remote, 100)
		through(remote, outbound, remote, hostA, 200)
	})
}

// As long as nobody has answered its time is short; who sends keeps it open.
func TestBasicTimes(t *testing.T) {
	long := func() []option {
		return []option{except(farSite), timeouts(func(s *datapath.Settings) {
			s.Timeouts[model.TimeoutOthers], s.Timeouts[model.TimeoutUDPUnanswered] = 10*time.Minute, 30*time.Second
		})}
	}
	eachBasic(t, long, func(g *gateway, p func(from, to netip.Addr) packets.Packet) {
		lives := func(d time.Duration, want int) { g.t.Helper(); g.idle(d); g.count(want) }
		g.put(p(hostA, remote))
		g.put(p(hostA, far.Addr()))
		lives(25*time.Second, 2)
		g.put(p(hostA, remote))
		lives(25*time.Second, 1)
		lives(10*time.Second, 0)
		g.put(p(hostA, remote))
		g.put(p(remote, outbound))
		g.put(p(hostA, far.Addr()))
		g.put(p(far.Addr(), hostA))
		lives(9*time.Minute, 2)
		lives(90*time.Second, 0)
		g.lend(pool2, 0, endpoint(hostB, 0), nil)
		g.put(p(remote, pool2))
		lives(25*time.Second, 1)
		g.put(p(hostB, remote))
		lives(9*time.Minute, 1)
		lives(90*time.Second, 0)
	})
}

func TestBasicLimits(t *testing.T) {
	most := func() []option {
		return []option{limited(func(l *datapath.Limits) { l.HostSessions, l.RemoteSessions = 1, 1 })}
	}
	eachBasic(t, most, func(g *gateway, p func(from, to netip.Addr) packets.Packet) {
		g.leaves(g.put(p(hostA, remote)), p(outbound, remote))
		g.unreachable(p(hostA, remote2), "drop_host_sessions")
		g.oneToOne(map[netip.Addr]netip.Addr{hostB: alone2})
		g.leaves(g.put(p(remote, alone2)), p(remote, hostB))
		g.leaves(g.put(udp(endpoint(remote2, 5), endpoint(alone2, 5))), udp(endpoint(remote2, 5), endpoint(hostB, 5)))
		g.put(udp(endpoint(hostB, 5), endpoint(remote2, 5))) // which proves the remote address
		g.dropped(g.put(p(remote2, alone2)), "drop_remote_sessions")
	})
}

func TestBasicBans(t *testing.T) {
	t.Parallel()
	g := newOneToOne(t)
	for _, p := range basics {
		g.put(p(hostB, remote))
	}
	check(t, g.data.PutBans(map[netip.Prefix]time.Time{netip.PrefixFrom(remote, 32): time.Now().Add(time.Hour)}))
	g.policy(g.services...)
	for _, p := range basics {
		g.dropped(g.put(p(remote, outbound)), "drop_banned")
		g.dropped(g.put(p(remote, alone)), "drop_banned")
	}
}

// To the gateway itself, which may have tunnels of its own, all of them pass, and from one private network to another.
func TestBasicToGateway(t *testing.T) {
	eachBasic(t, func() []option { return []option{shared} }, func(g *gateway, p func(from, to netip.Addr) packets.Packet) {
		for _, q := range []packets.Packet{p(remote, outbound), p(remote, publicAddress), p(hostA, privateAddress), p(hostA, outbound)} {
			g.passed(g.put(q), "to_gateway", addressed(q).Bytes())
		}
		g.passed(g.put(p(hostA, hostB)), "inside_to_inside", addressed(p(hostA, hostB)).Bytes())
		g.leaves(g.put(p(hostA, remote)), p(outbound, remote))
		g.leaves(g.put(p(remote, outbound)), p(remote, hostA))
		q := p(remote2, outbound)
		g.passed(g.put(q), "to_gateway", addressed(q).Bytes())
	})
}
