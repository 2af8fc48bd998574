package datapath

import (
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// The network at the other end of a VPN, which knows the addresses inside.
var (
	farSite = netip.MustParsePrefix("10.99.0.0/16")
	far     = endpoint(netip.MustParseAddr("10.99.1.5"), 53)
	farWeb  = endpoint(netip.MustParseAddr("10.99.1.5"), 80)
	farHop  = netip.MustParseAddr("10.99.0.1")
)

func except(list ...netip.Prefix) option {
	return timeouts(func(s *datapath.Settings) { s.Except = list })
}

// excepts puts other destinations without NAT into force.
func (g *gateway) excepts(list ...netip.Prefix) {
	g.t.Helper()
	g.settings.Except = list
	g.policy(g.services...)
}

// untranslated wants packets of both directions forwarded as they are.
func (g *gateway) untranslated(list ...packets.Packet) {
	g.t.Helper()
	for _, p := range list {
		g.leaves(g.put(p), p)
	}
}

func TestRFC6888_REQ6_DestinationsWithoutTranslation(t *testing.T) {
	t.Parallel()
	g := newGateway(t, except(farSite))
	g.untranslated(
		udp(inA, far), udp(far, inA), udp(inA, far),
		tcp(inA, farWeb, packets.SYN), tcp(farWeb, inA, packets.SYN|packets.ACK), tcp(inA, farWeb, packets.ACK), tcp(farWeb, inA, packets.ACK),
		echo(hostA, far.Addr(), 7), echoReply(far.Addr(), hostA, 7),
	)
	g.count(3)
	for _, s := range g.sessions() {
		same(g, "external address", s.External, s.Private)
		same(g, "origin", s.Origin, "own")
	}
	same(g, "mappings", g.census().Mappings, 0)
	same(g, "what the host has", g.subscriber(hostA), datapath.Subscriber{Sessions: 3})
	// Two hosts inside have the same port there; elsewhere they are translated.
	g.untranslated(udp(endpoint(hostB, inA.Port()), far), udp(far, endpoint(hostB, inA.Port())))
	g.leaves(g.put(udp(inA, server)), udp(endpoint(outbound, inA.Port()), server))
	g.census()
	g.idle(time.Hour)
	g.idle(time.Minute)
	for _, s := range g.sessions() {
		same(g, "protocol of what is left", s.Protocol, model.TCP)
	}
	g.idle(3 * time.Hour)
	g.idle(time.Minute)
	census := g.census()
	same(g, "sessions", census.Sessions+census.Resting, 0)
	same(g, "subscribers", census.Subscribers, 0)
}

func TestExceptPrefixes(t *testing.T) {
	t.Parallel()
	at := netip.MustParsePrefix
	g := newGateway(t, except(at("203.0.113.10/32"), at("10.99.0.0/17"), at("172.16.0.0/12")))
	for to, excepted := range map[string]bool{
		"203.0.113.10": true, "203.0.113.11": false, "203.0.113.9": false, "10.99.0.0": true, "10.99.127.255": true, "10.99.128.0": false,
		"10.98.255.255": false, "172.31.255.255": true, "172.32.0.0": false, "8.8.8.8": false,
	} {
		from := inA
		if !excepted {
			from = endpoint(outbound, inA.Port())
		}
		to := endpoint(netip.MustParseAddr(to), 53)
		g.leaves(g.put(udp(inA, to)), udp(from, to))
	}
}

// As many as there can be, and one more is refused.
func TestExceptMost(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	var list []netip.Prefix
	for n := range byte(datapath.MaxExcepts) {
		list = append(list, netip.PrefixFrom(netip.AddrFrom4([4]byte{100, 64, n, 0}), 24))
	}
	g.excepts(list...)
	for _, n := range []byte{0, datapath.MaxExcepts - 1} {
		g.untranslated(udp(inA, endpoint(netip.AddrFrom4([4]byte{100, 64, n, 1}), 53)))
	}
	g.settings.Except = append(list, farSite)
	g.in(func() error {
		if generation, err := g.data.SetPolicy(g.settings, g.services, nil); err == nil || generation != 0 {
			t.Errorf("generation %d, %v", generation, err)
		}
		return nil
	})
}

// A campus that has public addresses inside translates nothing; its own addresses outside stay what they are.
func TestExceptEverything(t *testing.T) {
	t.Parallel()
	g := newGateway(t, except(netip.MustParsePrefix("0.0.0.0/0")))
	g.untranslated(udp(inA, server), udp(server, inA), tcp(inA, web, packets.SYN), tcp(web, inA, packets.SYN|packets.ACK))
	g.lend(pool1, 80, endpoint(hostB, 8080), nil)
	p := tcp(inA, lent, packets.SYN)
	g.leaves(g.put(p), tcp(endpoint(outbound, inA.Port()), endpoint(hostB, 8080), packets.SYN))
	g.passed(g.put(udp(inA, endpoint(privateAddress, 53))), "to_gateway", addressed(udp(inA, endpoint(privateAddress, 53))).Bytes())
	g.passed(g.put(udp(inA, inB)), "inside_to_inside", addressed(udp(inA, inB)).Bytes())
	g.census()
}

// From there only answers come in: who may open something is told by names and chains, as from everywhere.
func TestExceptLetsNobodyIn(t *testing.T) {
	t.Parallel()
	g := newGateway(t, except(farSite), filtering(model.EndpointIndependent))
	g.untranslated(udp(inA, far), tcp(inA, farWeb, packets.SYN), echo(hostA, far.Addr(), 7))
	for _, p := range []packets.Packet{
		udp(far, inB), udp(far, endpoint(hostA, 5)), udp(endpoint(far.Addr(), 54), inA), udp(endpoint(farHop, 53), inA),
		tcp(far, inA, packets.SYN), tcp(endpoint(far.Addr(), 81), inA, packets.SYN), echo(far.Addr(), hostA, 7),
		echoReply(far.Addr(), hostA, 8), udp(server, inA),
		unreachable(farHop, 1, 0, udp(inB, far), 8), unreachable(farHop, 1, 0, udp(inA, server), 8),
	} {
		p = addressed(p)
		if p.ICMP != nil && p.ICMP.Type == packets.DestinationUnreachable {
			p.IPv4.Destination = hostA
		}
		g.dropped(g.put(p), "drop_not_for_us")
	}
	// The host answers what came to it by a name: that is another session of the same two.
	g.lend(pool1, 80, service, nil)
	g.leaves(g.put(tcp(endpoint(far.Addr(), 9), lent, packets.SYN)), tcp(endpoint(far.Addr(), 9), service, packets.SYN))
	g.answers(endpoint(far.Addr(), 9), lent, service)
	g.dropped(g.put(tcp(endpoint(far.Addr(), 9), service, packets.ACK)), "drop_not_for_us")
	g.census()
}

func TestExceptICMPErrors(t *testing.T) {
	t.Parallel()
	g := newGateway(t, except(farSite))
	g.untranslated(udp(inA, far), tcp(inA, farWeb, packets.SYN), echo(hostA, far.Addr(), 7))
	for _, original := range []packets.Packet{udp(inA, far), tcp(inA, farWeb, packets.SYN), echo(hostA, far.Addr(), 7)} {
		for _, keep := range []int{8, -1} {
			for _, from := range []netip.Addr{farHop, hop} { // the way there is not of the network there
				p := packets.NewICMPError(from, hostA, packets.DestinationUnreachable, 4, 1400, original, keep)
				g.leaves(g.put(p), p)
			}
		}
	}
	// From the host itself.
	for _, original := range []packets.Packet{udp(far, inA), tcp(farWeb, inA, packets.ACK)} {
		p := packets.NewICMPError(hostA, far.Addr(), packets.DestinationUnreachable, 3, 0, original, 8)
		g.leaves(g.put(p), p)
	}
	// Of the gateway: what does not fit, and what has come too far.
	late := udp(inA, far).Change(func(p *packets.Packet) { p.IPv4.TTL = 1 })
	g.refused(g.put(late), late, "drop_ttl_expired", privateAddress, packets.TimeExceeded, 0, 0)
}

// A prefix that goes takes its sessions along; no packet of theirs leaves meanwhile, translated or not.
func TestExceptByReload(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := endpoint(outbound, inA.Port())
	g.leaves(g.put(udp(inA, far)), udp(out, far))
	g.excepts(farSite)
	// What is open goes on as it was; what is new is not translated.
	g.leaves(g.put(udp(inA, far)), udp(out, far))
	g.leaves(g.put(udp(far, out)), udp(far, inA))
	g.untranslated(udp(inB, far), udp(far, inB), tcp(inA, farWeb, packets.SYN))
	g.excepts(farSite, netip.MustParsePrefix("192.0.2.0/24"))
	g.untranslated(udp(inB, far), udp(far, inB))
	g.excepts(netip.MustParsePrefix("192.0.2.0/24"))
	p := udp(inB, far)
	g.refused(g.put(p), p, "drop_service_closed", privateAddress, packets.DestinationUnreachable, 13, 0)
	g.dropped(g.put(udp(far, inB)), "drop_not_for_us")
	g.sweep()
	g.count(1) // the translated one
	g.leaves(g.put(udp(inB, far)), udp(endpoint(outbound, inB.Port()), far))
	g.census()
}

func TestExceptCountsWithItsHost(t *testing.T) {
	t.Parallel()
	g := newGateway(t, except(farSite), limited(func(l *datapath.Limits) {
		l.HostSessions = 2
		l.HostPorts = datapath.ProtocolLimits{UDP: 1, TCP: 1, ICMP: 1}
	}))
	g.untranslated(udp(endpoint(hostA, 1), far), udp(endpoint(hostA, 2), far)) // they take no ports
	g.unreachable(udp(endpoint(hostA, 3), far), "drop_host_sessions")
	g.untranslated(udp(inB, far))
}

// Nobody has a neighbour for it yet: the kernel forwards it as it is, and the guard at the way out lets it.
func TestExceptThroughTheStack(t *testing.T) {
	t.Parallel()
	g := newGateway(t, except(farSite), strangers)
	g.handed(g.put(udp(inA, far)), "forwarded_no_neighbour", udp(inA, far))
	g.handed(g.put(udp(far, inA)), "forwarded_no_neighbour", udp(far, inA))
}

func TestGuardKnowsExceptedDestinations(t *testing.T) {
	t.Parallel()
	g := newGateway(t, except(netip.PrefixFrom(remote, 32)))
	if !g.leaving(privateAddress)[privateAddress] {
		t.Error("nothing leaves to a destination without NAT")
	}
	g.excepts(farSite)
	g.unseen(privateAddress)
}
