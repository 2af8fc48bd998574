package datapath

import (
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/chain"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/packets"
)

// Who is blocked reaches the gateway itself with nothing: neither in fragments nor by other
// protocols. Of a fragment nobody can tell whose flow it is of.
func TestBlockedReachTheGatewayWithNothing(t *testing.T) {
	g := newGateway(t)
	g.protected(chain.Addresses{Blocked: setOf("203.0.113.10/32")})
	syn := tcp(endpoint(remote, 40000), endpoint(publicAddress, 22), packets.SYN)
	g.dropped(g.put(syn), "drop_denied")
	for name, change := range map[string]func(*packets.Packet){
		"first fragment": func(p *packets.Packet) { p.IPv4.MF = true },
		"last fragment":  func(p *packets.Packet) { p.IPv4.FragmentOffset = 1 },
		"SCTP":           func(p *packets.Packet) { p.IPv4.Protocol = 132 },
		"ESP":            func(p *packets.Packet) { p.IPv4.Protocol = 50 },
	} {
		r := g.put(syn.Change(change))
		if !r.reason.IsDrop() {
			t.Errorf("%s of a blocked source: %s", name, r.reason)
		}
	}
	g.in(func() error {
		return g.enforce(chain.Policy{Protection: []chain.Step{
			{Name: "allowlist", Number: 1, Function: chain.Allowlist{Remote: chain.Remote{In: chain.Addresses{Blocked: setOf("203.0.113.10/32")}}}},
			{Name: "blocklist", Number: 2, Function: chain.Blocklist{}},
		}})
	})
	if r := g.put(syn.Change(func(p *packets.Packet) { p.IPv4.FragmentOffset = 1 })); r.reason != "to_gateway" {
		t.Errorf("a fragment that may be of an answer: %s", r.reason)
	}
}

// Answers to what a host inside, or the gateway, began from a port whose number is the
// honeypot's are let in.
func TestHoneypotOverIPv6LeavesAnswersAlone(t *testing.T) {
	g := newGateway(t, timeouts(func(s *datapath.Settings) { s.ForwardIPv6 = true }))
	check(t, g.namespace.EnableIPv6(true))
	check(t, g.namespace.Address("eth0", "2001:db8::1/64"))
	g.in(g.data.Refresh)
	g.in(func() error {
		return g.enforce(chain.Policy{Protection: []chain.Step{
			{Name: "allowlist", Number: 1, Function: chain.Allowlist{}},
			{Name: "ports", Number: 2, Function: chain.Ports{Trapped: model.PortSet{TCP: []model.Ports{{First: 49152, Last: 49152}}, UDP: []model.Ports{{First: 49152, Last: 49152}}}}},
			{Name: "honeypot", Number: 3, Function: chain.Honeypot{}},
		}})
	})
	server := netip.AddrPortFrom(netip.MustParseAddr("2001:db8:f::21"), 443)
	for _, to := range []netip.Addr{netip.MustParseAddr("2001:db8::1"), sixInside} {
		at := netip.AddrPortFrom(to, 49152)
		for _, p := range []packets.Packet{tcp(server, at, packets.SYN|packets.ACK), udp(server, at)} {
			if r := g.fromOutside(outside(p)); r.reason.IsDrop() {
				t.Errorf("%s: %s", p, r.reason)
			}
		}
	}
	for _, p := range []packets.Packet{tcp(endpoint(remote, 443), endpoint(publicAddress, 49152), packets.SYN|packets.ACK), udp(endpoint(remote, 443), endpoint(publicAddress, 49152))} {
		if r := g.put(p); r.reason != "to_gateway" {
			t.Errorf("%s: %s", p, r.reason)
		}
	}
}

// A lease that is renewed is answered to port 68, from wherever the server is.
func TestAnswerToALeasePasses(t *testing.T) {
	g := newGateway(t)
	g.protected(chain.Addresses{Fenced: setOf("203.0.113.10/32")})
	if r := g.put(udp(endpoint(remote, 67), endpoint(publicAddress, 68))); r.reason.IsDrop() {
		t.Errorf("%s", r.reason)
	}
}
