package datapath

import (
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

var (
	secondAddress = netip.MustParseAddr("10.9.0.1") // of eth2, which is private as eth1 is
	hostC         = netip.MustParseAddr("10.9.0.10")
	behindC       = netip.MustParseAddr("10.77.0.5") // hostC routes to its network
)

// withSecondPort makes eth2 beside eth1, and returns its interface's index. The
// data plane begins anew with both.
func (g *gateway) withSecondPort() int {
	g.t.Helper()
	peer := must(g.lab.Namespace("second"))(g.t)
	check(g.t, g.lab.Veth(g.namespace, "eth2", peer, "eth0"))
	check(g.t, g.namespace.Address("eth2", secondAddress.String()+"/24"))
	check(g.t, g.namespace.Up("eth2"))
	check(g.t, peer.Up("eth0"))
	check(g.t, g.namespace.WaitUp())
	check(g.t, g.namespace.Route("10.77.0.0/16", hostC.String()))
	second := 0
	g.in(func() error {
		second = ifindex(g.t, "eth2")
		neighbour(g.t, second, hostC, packets.OtherHostMAC)
		if err := g.data.Close(false); err != nil {
			return err
		}
		g.options.Private = append(g.options.Private, "eth2")
		var err error
		if g.data, err = datapath.Open(g.options); err != nil {
			return err
		}
		if err = g.data.SetAddresses([]netip.Addr{pool1, pool2}, nil); err != nil {
			return err
		}
		if _, err = g.data.SetPolicy(g.settings, g.services, nil); err != nil {
			return err
		}
		return g.data.Attach()
	})
	return second
}

// by sends a packet by an interface of the private side.
func (g *gateway) by(ifindex int, p packets.Packet) result {
	g.t.Helper()
	first := g.private
	defer func() { g.private = first }()
	g.private = ifindex
	return g.send(false, inside(p).Bytes())
}

// field-attacks.md A4: one packet in a neighbour's name opened its port to an
// accomplice, and the gateway answered to whoever was named as a source. What
// opens a session, goes to the gateway or to another network inside has to come
// by the interface that its source is reached by (RFC 3704 section 2.2).
func TestSourcesInsideAreChecked(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	second := g.withSecondPort()
	spoofed := map[string]netip.Addr{
		"another port's host":          hostC,
		"a network behind it":          behindC,
		"an address outside":           netip.MustParseAddr("203.0.113.99"),
		"the gateway's own":            privateAddress,
		"the gateway's own, elsewhere": secondAddress,
		"the gateway's own, outside":   publicAddress,
		"its next hop":                 router,
		"the broadcast":                netip.MustParseAddr("10.0.255.255"),
		"of no network":                netip.MustParseAddr("10.200.0.1"),
	}
	check(t, g.namespace.Command(t.Context(), "ip", "route", "add", "unreachable", "10.200.0.0/16").Run())
	for name, from := range spoofed {
		at := endpoint(from, 8080)
		for _, p := range []packets.Packet{
			udp(at, server), tcp(at, web, packets.SYN), echo(from, remote, 7), // out
			udp(at, endpoint(privateAddress, 53)), tcp(at, endpoint(privateAddress, 53), packets.SYN), echo(from, privateAddress, 7),
			udp(at, endpoint(publicAddress, 53)), // to the gateway, by its other address
			udp(at, endpoint(privateAddress, 53)).Change(firstFragment), udp(at, endpoint(privateAddress, 53)).Change(lastFragment),
			udp(at, endpoint(hostC, 53)), // to another network inside
			udp(at, lent),                // a hairpin
		} {
			if r := g.by(g.private, p); r.reason != "drop_spoofed_source" {
				t.Errorf("%s: %s: %s", name, p, r.reason)
			}
		}
	}
	g.count(0)
	for port, from := range map[int][]netip.Addr{g.private: {hostA, hostB}, second: {hostC, behindC}} {
		for _, host := range from {
			g.forwarded(g.by(port, udp(endpoint(host, 5000), server)))
			if r := g.by(port, udp(endpoint(host, 5000), endpoint(privateAddress, 53))); r.reason != "to_gateway" {
				t.Errorf("%s to the gateway: %s", host, r.reason)
			}
		}
	}
	if r := g.by(g.private, udp(inA, endpoint(hostC, 53))); r.reason != "inside_to_inside" {
		t.Errorf("to another network inside: %s", r.reason)
	}
	discover := udp(endpoint(netip.IPv4Unspecified(), 68), packets.At("255.255.255.255:67"))
	if r := g.by(g.private, discover); r.reason != "to_gateway" {
		t.Errorf("a client without an address asks for one: %s", r.reason)
	}
	g.count(4)
}

// A host that moves to another port is let in there as soon as its route has moved,
// and no more where it was.
func TestSourceMovesWithItsRoute(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	second := g.withSecondPort()
	g.forwarded(g.by(g.private, udp(inA, server)))
	check(t, g.namespace.Route(hostA.String()+"/32", hostC.String()))
	g.data.RoutesChanged()
	if r := g.by(g.private, udp(endpoint(hostA, 40009), server)); r.reason != "drop_spoofed_source" {
		t.Errorf("where it was: %s", r.reason)
	}
	g.forwarded(g.by(second, udp(endpoint(hostA, 40009), server)))
}

// Where two ways lead to one network a host's packets come by either; not in another
// side's name.
func TestLooseReversePath(t *testing.T) {
	t.Parallel()
	g := newGateway(t, timeouts(func(s *datapath.Settings) { s.LooseReversePath = true }))
	second := g.withSecondPort()
	g.forwarded(g.by(second, udp(inA, server)))
	g.forwarded(g.by(g.private, udp(inB, server)))
	for _, from := range []netip.Addr{remote2, router, privateAddress, publicAddress} {
		g.dropped(g.by(g.private, udp(endpoint(from, 5000), server)), "drop_spoofed_source")
	}
}

// field-attacks.md A9: from outside, too, nobody reaches the gateway itself in the
// name of a private host, or of the gateway.
func TestSourcesOutsideAreChecked(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]option{"apart": nil, "shared": {shared}} {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t, options...)
			to := []netip.Addr{publicAddress}
			if options != nil {
				to = append(to, outbound)
			}
			for _, from := range []netip.Addr{hostA, privateAddress, publicAddress, outbound, pool1} {
				for _, own := range to {
					at := endpoint(from, 5000)
					for _, p := range []packets.Packet{
						udp(at, endpoint(own, 53)), tcp(at, endpoint(own, 53), packets.SYN), tcp(at, endpoint(own, 99), packets.SYN),
						echo(from, own, 7), udp(at, endpoint(own, 53)).Change(lastFragment),
						unreachable(from, 3, 0, udp(endpoint(own, 53), at), 8),
						packets.NewEchoReply(from, own, 7, 1),
					} {
						r := g.fromOutside(outside(p))
						fragment := own == outbound && p.IPv4.FragmentOffset != 0 // of none that passes
						if r.reason != "drop_spoofed_source" && (!fragment || r.reason != "drop_fragment") {
							t.Errorf("%s: %s", p, r.reason)
						}
					}
				}
			}
			for _, p := range []packets.Packet{udp(client, endpoint(publicAddress, 53)), echo(remote, publicAddress, 7)} {
				if r := g.fromOutside(outside(p)); r.reason != "to_gateway" {
					t.Errorf("%s: %s", p, r.reason)
				}
			}
			lease := udp(endpoint(hostA, 67), endpoint(publicAddress, 68)) // a line behind a router whose network is ours, too
			if r := g.fromOutside(outside(lease)); r.reason != "to_gateway" {
				t.Errorf("a lease: %s", r.reason)
			}
		})
	}
}

// field-attacks.md A10: one forged redirect turned the gateway's own route.
func TestRedirectsAreDropped(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	redirect := func(from, to netip.Addr) packets.Packet {
		return packets.NewICMPError(from, to, 5, 1, 0xc6120042, udp(endpoint(to, 53), endpoint(remote, 53)), 8)
	}
	for _, p := range []packets.Packet{redirect(router, publicAddress), redirect(hostA, privateAddress), redirect(router, outbound)} {
		if r := g.put(p); r.reason != model.Reason("drop_icmp_type") {
			t.Errorf("%s: %s", p, r.reason)
		}
	}
	for _, name := range []string{"eth0", "eth1"} {
		for _, setting := range []string{"accept_redirects", "send_redirects"} {
			same(g, setting+" of "+name, must(g.namespace.Sysctl("net/ipv4/conf/"+name+"/"+setting))(t), "0")
		}
	}
	g.in(func() error { return g.data.Close(false) })
	for _, name := range []string{"eth0", "eth1"} {
		same(g, "accept_redirects of "+name, must(g.namespace.Sysctl("net/ipv4/conf/"+name+"/accept_redirects"))(t), "1")
	}
}

// What parsing makes no flow of is judged by the settings in force, too.
func TestReversePathOfWhatIsNoFlow(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	second := g.withSecondPort()
	ah := packets.NewIP(hostA, privateAddress, 51, repeated(1, 40))
	for i := range 4 { // twice in each of the places that settings have
		g.settings.LooseReversePath = i%2 == 0
		g.policy()
		want := model.Reason("to_gateway")
		if !g.settings.LooseReversePath {
			want = "drop_spoofed_source"
		}
		for _, p := range []packets.Packet{ah, udp(inA, endpoint(privateAddress, 53)).Change(lastFragment)} {
			if r := g.by(second, p); r.reason != want {
				t.Errorf("loose %v, protocol %d: %s, want %s", g.settings.LooseReversePath, p.IPv4.Protocol, r.reason, want)
			}
		}
	}
}
