package datapath

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/test/dataplane"
	"github.com/realmgate/realmgate/test/frames"
)

const telnet = 23

// protected puts honeypotAt into force.
func (g *gateway) protected(remote nf.Addresses) {
	g.t.Helper()
	g.in(func() error { return g.enforce(honeypotAt(remote)) })
}

func setOf(prefixes ...string) *model.AddressSet {
	var ranges []model.AddressRange
	for _, p := range prefixes {
		ranges = append(ranges, model.RangeOf(netip.MustParsePrefix(p)))
	}
	return model.NewAddressSet(ranges)
}

// hits wants who is told of by the stream of those who fell into the honeypot.
func (g *gateway) hits(want ...datapath.HoneypotEvent) {
	g.t.Helper()
	var events *datapath.Events[datapath.HoneypotEvent]
	g.in(func() (err error) { events, err = g.data.HoneypotEvents(); return err })
	defer func() { _ = events.Close() }()
	events.SetDeadline(time.Now())
	for i := 0; ; i++ {
		e, err := events.Next()
		switch {
		case err != nil && !errors.Is(err, os.ErrDeadlineExceeded):
			g.t.Fatal(err)
		case err != nil && i == len(want):
			return
		case err != nil || i == len(want):
			g.t.Fatalf("%d were told of, and then %v, %v; want %v", i, e, err, want)
		}
		if e.At = 0; e != want[i] {
			g.t.Fatalf("%v was told of, want %v", e, want[i])
		}
	}
}

func knocking(from, to netip.AddrPort) packets.Packet {
	return tcp(from, to, packets.SYN).Change(func(p *packets.Packet) { p.TCP.Sequence = 0xfffffffe; p.TCP.Options = []byte{2, 4, 5, 180} })
}

// answered wants the answer to what knocked, and returns its number.
func (g *gateway) answered(r result, action dataplane.Action, from, to netip.AddrPort, at packets.MAC) uint32 {
	g.t.Helper()
	if r.action != action || r.reason != "answered_honeypot" || r.packet.TCP == nil {
		g.t.Fatalf("%v, %s, %s: want it answered", r.action, r.reason, r.packet)
	}
	want := tcp(to, from, packets.SYN|packets.ACK).Change(func(p *packets.Packet) {
		p.TCP.Sequence, p.TCP.Acknowledge, p.TCP.Window = r.packet.TCP.Sequence, 0xffffffff, 0
		p.IPv4.DF, p.IPv4.ID, p.IPv4.TTL = true, 0, 64
	}).Between(r.packet.Ethernet.Source, at)
	if diff := frames.Diff(want.Bytes(), r.frame); diff != "" {
		g.t.Fatalf("the answer is not as wanted:\n%s", diff)
	}
	return r.packet.TCP.Sequence
}

// knock sends a SYN that the honeypot answers, and returns the answer's number.
func (g *gateway) knock(from, to netip.AddrPort) uint32 {
	g.t.Helper()
	return g.answered(g.put(knocking(from, to)), dataplane.Redirect, from, to, packets.RouterMAC)
}

func acknowledge(from, to netip.AddrPort, cookie uint32) packets.Packet {
	return tcp(from, to, packets.ACK).Change(func(p *packets.Packet) { p.TCP.Sequence, p.TCP.Acknowledge = 0xffffffff, cookie+1 })
}

// Who completes a handshake with the honeypot is told of, wherever nobody else is meant:
// at an address of the pool, at an outbound one, and at the gateway itself. The packets are
// dropped.
func TestHoneypotTellsWhoCompletesAHandshake(t *testing.T) {
	t.Parallel()
	for name, to := range map[string]netip.Addr{"pool": pool1, "outbound": outbound, "gateway": publicAddress} {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t)
			g.protected(nf.Addresses{})
			from, to := endpoint(remote, 40000), netip.AddrPortFrom(to, telnet)
			cookie := g.knock(from, to)
			g.hits()
			g.dropped(g.put(acknowledge(from, to, cookie)), "drop_honeypot")
			g.hits(datapath.HoneypotEvent{Source: remote, Port: telnet})
			g.count(0)
		})
	}
}

// TestSpoofedPacketBansNobody: without the number that only the owner of an address gets
// to see, no packet has that address told of.
func TestSpoofedPacketBansNobody(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.protected(nf.Addresses{})
	from, to := endpoint(remote, 40000), netip.AddrPortFrom(pool1, telnet)
	cookie := g.knock(from, to)
	for _, p := range []packets.Packet{
		acknowledge(from, to, cookie+16), // below that it may stand for another segment size
		acknowledge(endpoint(remote2, 40000), to, cookie),
		acknowledge(endpoint(remote, 40001), to, cookie),
		acknowledge(from, netip.AddrPortFrom(pool2, telnet), cookie),
		acknowledge(from, to, cookie).Change(func(p *packets.Packet) { p.TCP.Sequence++ }),
		acknowledge(from, to, cookie).Change(func(p *packets.Packet) { p.TCP.Flags |= packets.RST }),
		acknowledge(from, netip.AddrPortFrom(pool1, 25), cookie), // no port of the honeypot
		tcp(from, to, packets.RST),
	} {
		if r := g.put(p); r.reason != "drop_no_binding" {
			t.Errorf("%s: %s", p, r.reason)
		}
	}
	g.dropped(g.put(tcp(from, to, packets.SYN|packets.ACK)), "drop_honeypot")
	g.dropped(g.put(udp(from, netip.AddrPortFrom(pool1, 1900))), "drop_honeypot")
	g.hits()
}

// TestSpoofedByANeighbour: who shares the link and takes the address of somebody else sees
// no answer, as it goes where the routes say. The kernel asks for a neighbour whom it does
// not know, and who cannot be reached is not answered.
func TestSpoofedByANeighbour(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.protected(nf.Addresses{})
	to := netip.AddrPortFrom(pool1, telnet)
	forged := func(from netip.AddrPort) result {
		return g.fromOutside(knocking(from, to).Between(packets.ClientMAC, packets.GatewayPublicMAC))
	}
	victim, stranger := endpoint(remote, 40000), netip.MustParseAddrPort("198.18.0.77:40000")
	g.answered(forged(victim), dataplane.Redirect, victim, to, packets.RouterMAC)
	g.answered(forged(stranger), dataplane.Pass, stranger, to, packets.GatewayPublicMAC)
	g.in(func() error { neighbour(t, g.public, stranger.Addr(), packets.ClientMAC); return nil })
	g.answered(forged(stranger), dataplane.Redirect, stranger, to, packets.ClientMAC)
	check(t, g.namespace.RemoveRoute("default", router.String()))
	g.dropped(forged(victim), "drop_honeypot")
	g.hits()
}

// Where rules of the host tell what is forwarded from what the gateway itself sends, answers
// go by the latter.
func TestHoneypotAnswersByRulesForTheGateway(t *testing.T) {
	t.Parallel()
	const table = 99
	g := newGateway(t)
	g.protected(nf.Addresses{})
	check(t, g.namespace.RemoveRoute("default", router.String()))
	from, to := endpoint(remote, 40000), netip.AddrPortFrom(pool1, telnet)
	g.dropped(g.put(knocking(from, to)), "drop_honeypot")
	g.in(func() error {
		all := &net.IPNet{IP: net.IPv4zero, Mask: net.CIDRMask(0, 32)}
		rule := netlink.NewRule()
		rule.IifName, rule.Table = "lo", table
		return errors.Join(netlink.RuleAdd(rule), netlink.RouteAdd(&netlink.Route{Dst: all, Gw: router.AsSlice(), Table: table}))
	})
	g.knock(from, to)
	// The kernel would forward what is left to it.
	g.in(func() error {
		return netlink.NeighDel(&netlink.Neigh{LinkIndex: g.public, IP: router.AsSlice()})
	})
	g.dropped(g.put(knocking(from, to)), "drop_honeypot")
}

// What comes in by an interface that takes no redirected frames is answered through the kernel.
func TestHoneypotAnswersWithoutRedirect(t *testing.T) {
	t.Parallel()
	g := newGateway(t, publicLink(netns.GRO(netns.BothEnds, false)))
	g.protected(nf.Addresses{})
	from, to := endpoint(remote, 40000), netip.AddrPortFrom(pool1, telnet)
	if atTCX() { // which can send what comes to any interface
		g.answered(g.put(knocking(from, to)), dataplane.Redirect, from, to, packets.RouterMAC)
		return
	}
	g.answered(g.put(knocking(from, to)), dataplane.Pass, from, to, packets.GatewayPublicMAC)
}

// A name's service is no honeypot, though who comes for the honeypot is kept from what is lent
// to others; nor is a port that a host inside has opened.
func TestHoneypotLeavesAloneWhatIsUsed(t *testing.T) {
	t.Parallel()
	g := newGateway(t, filtering(model.EndpointIndependent))
	g.protected(nf.Addresses{})
	g.lend(pool1, 80, endpoint(hostA, 80), nil)
	g.leaves(g.put(tcp(endpoint(remote, 40000), netip.AddrPortFrom(pool1, 80), packets.SYN)), tcp(endpoint(remote, 40000), endpoint(hostA, 80), packets.SYN))
	g.lend(pool2, 0, endpoint(hostB, 0), nil)
	g.knock(endpoint(remote2, 40000), netip.AddrPortFrom(pool2, telnet))
	g.leaves(g.put(tcp(endpoint(remote, 40000), netip.AddrPortFrom(pool2, 80), packets.SYN)), tcp(endpoint(remote, 40000), endpoint(hostB, 80), packets.SYN))
	g.lend(pool1, 81, endpoint(hostA, 8080), nil) // who comes sees 81 alone
	g.established(endpoint(remote, 40001), netip.AddrPortFrom(pool1, 81), endpoint(hostA, 8080))
	out := g.connected(inA, server)
	g.leaves(g.put(tcp(endpoint(remote2, 4000), out, packets.SYN)), tcp(endpoint(remote2, 4000), inA, packets.SYN))
	g.protected(nf.Addresses{}) // all are judged again
	g.leaves(g.put(tcp(endpoint(remote2, 4000), out, packets.SYN)), tcp(endpoint(remote2, 4000), inA, packets.SYN))
	g.leaves(g.put(tcp(server, out, packets.ACK)), tcp(server, inA, packets.ACK))
	g.leaves(g.put(tcp(endpoint(remote, 40001), netip.AddrPortFrom(pool1, 81), packets.ACK)), tcp(endpoint(remote, 40001), endpoint(hostA, 8080), packets.ACK))
	g.hits()
}

// A service of a name is judged by the port that it has outside, at its first packet and
// when a flow is judged again.
func TestGeofenceMonitorsPortsAsTheyAreOutside(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	protect := func(fenced *model.AddressSet) {
		g.in(func() error {
			return g.enforce(nf.Policy{Protection: []nf.Step{
				{Name: "allowlist", Number: 1, Function: nf.Allowlist{Remote: nf.Remote{In: nf.Addresses{Fenced: fenced}}}},
				{Name: "ports", Number: 2, Function: nf.Ports{Monitored: model.PortSet{TCP: []model.Ports{{First: 80, Last: 443}}}}},
				{Name: "geofence", Number: 3, Function: nf.Geofence{}},
			}})
		})
	}
	monitored, other := netip.AddrPortFrom(pool1, 443), netip.AddrPortFrom(pool1, 8443)
	protect(setOf("203.0.113.10/32"))
	g.lend(pool1, 443, endpoint(hostA, 8080), nil)
	g.lend(pool1, 8443, endpoint(hostB, 80), nil)
	g.dropped(g.put(tcp(endpoint(remote, 40000), monitored, packets.SYN)), "drop_denied")
	g.established(endpoint(remote, 40000), other, endpoint(hostB, 80))
	g.leaves(g.put(tcp(endpoint(remote2, 40000), monitored, packets.SYN)), tcp(endpoint(remote2, 40000), endpoint(hostA, 8080), packets.SYN))
	protect(setOf("203.0.113.10/31"))
	g.dropped(g.put(tcp(endpoint(remote2, 40000), monitored, packets.ACK)), "drop_denied")
	g.leaves(g.put(tcp(endpoint(remote, 40000), other, packets.ACK)), tcp(endpoint(remote, 40000), endpoint(hostB, 80), packets.ACK))
}

// A port of the gateway that becomes a honeypot is one for connections, too, that were open.
func TestHoneypotEndsWhatWasOpenAtTheGateway(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.protected(nf.Addresses{})
	g.dropped(g.put(tcp(endpoint(remote, 40000), endpoint(publicAddress, telnet), packets.ACK)), "drop_honeypot")
	if r := g.put(tcp(endpoint(remote, telnet), endpoint(publicAddress, 50000), packets.ACK)); r.reason != "to_gateway" {
		t.Errorf("an answer to the gateway, from such a port: %s", r.reason)
	}
	g.hits()
}

// The order is: allowlist, ban, blocklist, honeypot. Of these only the honeypot answers.
func TestHoneypotHasItsPlace(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.protected(nf.Addresses{
		Allowed: setOf("203.0.113.10/32"), Blocked: setOf("203.0.113.10/31"), Fenced: setOf("203.0.113.0/24"),
	})
	toUs := netip.AddrPortFrom(publicAddress, telnet)
	allowed := tcp(endpoint(remote, 40000), toUs, packets.SYN)
	g.passed(g.put(allowed), "to_gateway", addressed(allowed).Bytes())
	g.dropped(g.put(tcp(endpoint(remote2, 40000), toUs, packets.SYN)), "drop_denied")
	g.knock(endpoint(never, 40000), toUs) // the geofence denies it, and is asked later
	g.ban(datapath.Forever, netip.PrefixFrom(never, 32))
	g.dropped(g.put(tcp(endpoint(never, 40000), toUs, packets.SYN)), "drop_banned")
}

// The protection guards the gateway itself: what opens a flow to it is judged as one from
// outside, and answers to what it asked itself as one to there.
func TestProtectionOfTheGatewayItself(t *testing.T) {
	t.Parallel()
	names := endpoint(publicAddress, 5353)
	g := newGateway(t, timeouts(func(s *datapath.Settings) { s.NameServer = names }))
	g.in(func() error {
		return g.enforce(nf.Policy{Protection: []nf.Step{
			{Name: "allowlist", Number: 1, Function: nf.Allowlist{Remote: nf.Remote{
				In: nf.Addresses{Fenced: setOf("203.0.113.10/32"), Blocked: setOf("203.0.113.99/32")}, Out: nf.Addresses{Blocked: setOf("203.0.113.11/32")},
			}}},
			{Name: "blocklist", Number: 2, Function: nf.Blocklist{}},
			{Name: "geofence", Number: 3, Function: nf.Geofence{}},
		}})
	})
	own := endpoint(publicAddress, 50000) // the kernel gives it to sockets
	for _, c := range []struct {
		packet packets.Packet
		reason model.Reason
	}{
		{tcp(endpoint(remote, 40000), endpoint(publicAddress, 22), packets.SYN), "drop_denied"},
		{tcp(endpoint(remote, 40000), endpoint(publicAddress, 22), packets.ACK), "drop_denied"}, // what was open ends
		{tcp(endpoint(remote, 22), own, packets.SYN|packets.ACK), "to_gateway"},
		{udp(endpoint(remote, 40000), endpoint(publicAddress, 53)), "drop_denied"},
		{udp(endpoint(remote, 53), own), "to_gateway"},
		{packets.NewEcho(remote, publicAddress, 1, 1), "drop_denied"},
		{packets.NewEchoReply(remote, publicAddress, 1, 1), "to_gateway"},
		{tcp(endpoint(remote2, 40000), endpoint(publicAddress, 22), packets.SYN), "to_gateway"},
		{tcp(endpoint(remote2, 40000), endpoint(publicAddress, 22), packets.ACK), "to_gateway"},
		{tcp(endpoint(remote2, 22), own, packets.SYN|packets.ACK), "drop_denied"},
		{udp(endpoint(remote2, 53), own), "drop_denied"},
		// Who asks the name server does so for others.
		{udp(endpoint(remote, 40000), names), "to_gateway"},
		{tcp(endpoint(remote, 40000), names, packets.SYN), "to_gateway"},
		{udp(endpoint(never, 40000), names), "drop_denied"},
	} {
		if r := g.put(c.packet); r.reason != c.reason {
			t.Errorf("%s: %s, want %s", c.packet, r.reason, c.reason)
		}
	}
}

// Over IPv6 it is the same: for the gateway itself and, where the kernel forwards, for all
// behind it. Ports that are ignored are left alone by honeypot and geofence.
func TestHoneypotOverIPv6(t *testing.T) {
	t.Parallel()
	g := newGateway(t, timeouts(func(s *datapath.Settings) { s.ForwardIPv6 = true }))
	check(t, g.namespace.EnableIPv6(true))
	check(t, g.namespace.Address("eth0", "2001:db8::1/64"))
	way := netip.MustParseAddr("2001:db8::ff")
	check(t, g.namespace.Route("default", way.String()))
	g.in(func() error { neighbour(t, g.public, way, packets.RouterMAC); return g.data.Refresh() })
	us, scanner, friend := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8:f::21"), exempt
	g.in(func() error {
		of := nf.Addresses{Allowed: set6(friend), Fenced: set6(deniedIn)}
		return g.enforce(nf.Policy{Protection: []nf.Step{
			{Name: "allowlist", Number: 1, Function: nf.Allowlist{Remote: nf.Remote{In: of, Out: of}}},
			{Name: "ports", Number: 2, Function: nf.Ports{
				Ignored:  model.PortSet{TCP: []model.Ports{{First: 443, Last: 443}}},
				Honeypot: model.PortSet{TCP: []model.Ports{{First: telnet, Last: telnet}}, UDP: []model.Ports{{First: 1900, Last: 1900}}},
			}},
			{Name: "honeypot", Number: 3, Function: nf.Honeypot{}},
			{Name: "geofence", Number: 4, Function: nf.Geofence{}},
		}})
	})
	at := netip.AddrPortFrom
	for _, to := range []netip.Addr{us, sixInside} {
		from, back := at(scanner, 40000), packets.ClientMAC
		if to == sixInside { // the kernel tells routes once it forwards
			check(t, g.namespace.SetSysctl("net/ipv6/conf/all/forwarding", "1"))
			back = packets.RouterMAC
		}
		r := g.fromOutside(tcp(from, at(to, telnet), packets.SYN).Between(packets.ClientMAC, packets.GatewayPublicMAC))
		if r.action != dataplane.Redirect || r.reason != "answered_honeypot" || r.packet.TCP == nil {
			t.Fatalf("to %s: %v, %s, %s: want it answered", to, r.action, r.reason, r.packet)
		}
		want := tcp(at(to, telnet), from, packets.SYN|packets.ACK).Change(func(p *packets.Packet) {
			p.TCP.Sequence, p.TCP.Acknowledge, p.TCP.Window, p.IPv6.HopLimit = r.packet.TCP.Sequence, 1+tcp(from, from, 0).TCP.Sequence, 0, 64
		}).Between(r.packet.Ethernet.Source, back)
		if diff := frames.Diff(want.Bytes(), r.frame); diff != "" {
			t.Fatalf("the answer is not as wanted:\n%s", diff)
		}
		proof := tcp(from, at(to, telnet), packets.ACK).Change(func(p *packets.Packet) {
			p.TCP.Sequence, p.TCP.Acknowledge = r.packet.TCP.Acknowledge, r.packet.TCP.Sequence+1
		})
		other := at(netip.MustParseAddr("2001:db8:f::9"), 40000)
		for _, p := range []packets.Packet{
			proof.Change(func(p *packets.Packet) { p.TCP.Acknowledge += 16 }), proof.Change(func(p *packets.Packet) { p.IPv6.Source = other.Addr() }),
			proof.Change(func(p *packets.Packet) { p.TCP.Flags |= packets.RST }),
		} {
			g.dropped(g.fromOutside(outside(p)), "drop_honeypot")
		}
		// It may be the answer to a flow of ours from such a port.
		if r := g.fromOutside(outside(tcp(at(scanner, 80), at(to, telnet), packets.ACK))); r.reason.IsDrop() {
			t.Errorf("of a flow that may be our own: %s", r.reason)
		}
		g.hits()
		g.dropped(g.fromOutside(outside(proof)), "drop_honeypot")
		g.hits(datapath.HoneypotEvent{Source: scanner, Port: telnet})
		g.dropped(g.fromOutside(outside(udp(from, at(to, 1900)))), "drop_honeypot")
		g.dropped(g.fromOutside(outside(tcp(at(deniedIn, 40000), at(to, 80), packets.SYN))), "drop_denied")
		for _, p := range []packets.Packet{tcp(at(deniedIn, 40000), at(to, 443), packets.SYN), tcp(at(friend, 40000), at(to, telnet), packets.SYN)} {
			if r := g.fromOutside(outside(p)); r.reason.IsDrop() {
				t.Errorf("%s: %s", p, r.reason)
			}
		}
	}
	// On the link, and unknown; and one who ought to be inside.
	stranger, ours := netip.MustParseAddr("2001:db8::77"), sixInside.Next()
	check(t, g.namespace.Address("eth1", "2001:db8:1::1/64"))
	if r := g.fromOutside(outside(tcp(at(stranger, 40000), at(us, telnet), packets.SYN))); r.action != dataplane.Pass || r.reason != "answered_honeypot" {
		t.Errorf("a stranger on the link: %v, %s, want the answer left to the kernel", r.action, r.reason)
	}
	g.dropped(g.fromOutside(outside(tcp(at(ours, 40000), at(us, telnet), packets.SYN))), "drop_honeypot")
	inside := packets.NewTCP(at(sixInside, 40000), at(scanner, telnet), packets.SYN, "")
	if r := g.fromInside(inside.Between(packets.HostMAC, packets.GatewayPrivateMAC)); r.reason != "forwarded_ipv6" {
		t.Errorf("a host inside that goes to such a port outside: %s", r.reason)
	}
	g.hits()
}
