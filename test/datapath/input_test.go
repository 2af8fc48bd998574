package datapath

import (
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
)

// Who is blocked reaches the gateway itself with nothing: neither in fragments nor by other
// protocols. Of a later fragment nobody can tell whose flow it is of.
func TestBlockedReachTheGatewayWithNothing(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.protected(nf.Addresses{Blocked: setOf("203.0.113.10/32")})
	syn := tcp(endpoint(remote, 40000), endpoint(publicAddress, 22), packets.SYN)
	g.dropped(g.put(syn), "drop_denied")
	for name, change := range map[string]func(*packets.Packet){
		"first fragment": firstFragment,
		"last fragment":  lastFragment,
		"SCTP":           func(p *packets.Packet) { p.IPv4.Protocol = 132 },
		"ESP":            func(p *packets.Packet) { p.IPv4.Protocol = 50 },
	} {
		r := g.put(syn.Change(change))
		if !r.reason.IsDrop() {
			t.Errorf("%s of a blocked source: %s", name, r.reason)
		}
	}
	g.in(func() error {
		return g.enforce(nf.Policy{Protection: []nf.Step{
			{Name: "allowlist", Number: 1, Function: nf.Allowlist{Remote: nf.Remote{In: nf.Addresses{Blocked: setOf("203.0.113.10/32")}}}},
			{Name: "blocklist", Number: 2, Function: nf.Blocklist{}},
		}})
	})
	own := endpoint(publicAddress, 50000) // the kernel gives it to sockets
	for _, c := range []struct {
		packet packets.Packet
		change func(*packets.Packet)
		reason model.Reason
	}{
		{syn, lastFragment, "to_gateway"},
		{syn, firstFragment, "drop_denied"},
		{udp(endpoint(remote, 53), own), firstFragment, "to_gateway"},
		{udp(endpoint(remote, 40000), endpoint(publicAddress, 53)), firstFragment, "drop_denied"},
		{packets.NewEcho(remote, publicAddress, 1, 1), firstFragment, "drop_denied"},
		{packets.NewEchoReply(remote, publicAddress, 1, 1), firstFragment, "to_gateway"},
	} {
		if r := g.put(c.packet.Change(c.change)); r.reason != c.reason {
			t.Errorf("%s: %s, want %s", c.packet, r.reason, c.reason)
		}
	}
	toAll := addressed(udp(endpoint(remote, 40000), endpoint(publicAddress, 53))).Change(func(p *packets.Packet) { p.Ethernet.Destination = packets.BroadcastMAC })
	g.dropped(g.send(true, toAll.Bytes()), "drop_denied")
}

// firstFragment has a length that more can follow.
func firstFragment(p *packets.Packet) {
	p.IPv4.MF, p.IPv4.DF = true, false
	p.Payload = make([]byte, 16)
	if p.TCP != nil {
		p.Payload = p.Payload[:12]
	}
}

func lastFragment(p *packets.Packet) { p.IPv4.FragmentOffset = 4 }

// What ports say of a flow, the first of its fragments tells; the others are of no use
// without it.
func TestFragmentsGoWhereTheirPortsMay(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.in(func() error {
		return g.enforce(nf.Policy{Protection: []nf.Step{
			{Name: "allowlist", Number: 1, Function: nf.Allowlist{Remote: nf.Remote{In: nf.Addresses{Fenced: setOf("203.0.113.10/32")}, Out: nf.Addresses{Fenced: setOf("203.0.113.10/32")}}}},
			{Name: "ports", Number: 2, Function: nf.Ports{
				Ignored: model.PortSet{UDP: []model.Ports{{First: 500, Last: 500}}}, Honeypot: model.PortSet{UDP: []model.Ports{{First: 1900, Last: 1900}}},
			}},
			{Name: "honeypot", Number: 3, Function: nf.Honeypot{}},
			{Name: "geofence", Number: 4, Function: nf.Geofence{}},
		}})
	})
	to := func(source netip.Addr, port uint16) packets.Packet {
		return udp(endpoint(source, 40000), endpoint(publicAddress, port))
	}
	for _, c := range []struct {
		packet packets.Packet
		change func(*packets.Packet)
		reason model.Reason
	}{
		{to(remote, 500), firstFragment, "to_gateway"},
		{to(remote, 500), lastFragment, "to_gateway"},
		{to(remote, 501), firstFragment, "drop_denied"},
		{to(remote2, 1900), firstFragment, "drop_honeypot"},
	} {
		if r := g.put(c.packet.Change(c.change)); r.reason != c.reason {
			t.Errorf("%s: %s, want %s", c.packet, r.reason, c.reason)
		}
	}
}

// Answers to what a host inside, or the gateway, began from a port whose number is the
// honeypot's are let in.
func TestHoneypotOverIPv6LeavesAnswersAlone(t *testing.T) {
	t.Parallel()
	g := newGateway(t, timeouts(func(s *datapath.Settings) { s.ForwardIPv6 = true }))
	check(t, g.namespace.EnableIPv6(true))
	check(t, g.namespace.Address("eth0", "2001:db8::1/64"))
	g.in(g.data.Refresh)
	g.in(func() error {
		return g.enforce(nf.Policy{Protection: []nf.Step{
			{Name: "allowlist", Number: 1, Function: nf.Allowlist{}},
			{Name: "ports", Number: 2, Function: nf.Ports{Honeypot: model.PortSet{TCP: []model.Ports{{First: 49152, Last: 49152}}, UDP: []model.Ports{{First: 49152, Last: 49152}}}}},
			{Name: "honeypot", Number: 3, Function: nf.Honeypot{}},
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
	t.Parallel()
	g := newGateway(t)
	g.protected(nf.Addresses{Fenced: setOf("203.0.113.10/32")})
	if r := g.put(udp(endpoint(remote, 67), endpoint(publicAddress, 68))); r.reason.IsDrop() {
		t.Errorf("%s", r.reason)
	}
}

// honeypotAt is a protection with the honeypot at telnet and from 1024 on of TCP, and at 1900 of UDP.
func honeypotAt(remote nf.Addresses) nf.Policy {
	return nf.Policy{Protection: []nf.Step{
		{Name: "allowlist", Number: 1, Function: nf.Allowlist{Remote: nf.Remote{In: remote, Out: remote}}},
		{Name: "blocklist", Number: 2, Function: nf.Blocklist{}},
		{Name: "ports", Number: 3, Function: nf.Ports{Honeypot: model.PortSet{
			TCP: []model.Ports{{First: telnet, Last: telnet}, {First: 1024, Last: 65535}}, UDP: []model.Ports{{First: 1900, Last: 1900}},
		}}},
		{Name: "honeypot", Number: 4, Function: nf.Honeypot{}},
		{Name: "geofence", Number: 5, Function: nf.Geofence{}},
	}}
}
