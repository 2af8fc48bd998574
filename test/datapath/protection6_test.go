package datapath

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/test/dataplane"
)

// Remote ends, by what is denied to them, and a host inside.
var (
	deniedIn   = netip.MustParseAddr("2001:db8:f::1")
	deniedOut  = netip.MustParseAddr("2001:db8:f::2")
	deniedBoth = netip.MustParseAddr("2001:db8:f::3")
	exempt     = netip.MustParseAddr("2001:db8:f::4")
	sixInside  = netip.MustParseAddr("2001:db8:1::5")
)

func set6(addresses ...netip.Addr) *model.AddressSet {
	var r model.Ranges
	for _, a := range addresses {
		r.Add(netip.PrefixFrom(a, a.BitLen()))
	}
	return r.Set()
}

// protect is to be called in the gateway's namespace. Functions have the numbers 1 to 3.
func (g *gateway) protect(r nf.Remote) error {
	policy := nf.Policy{Protection: protection6(r)}
	made, err := g.data.MakeChains(func(tables datapath.ChainTables, first uint32) (datapath.Chains, error) {
		made, err := nf.Build(policy, nf.Shared(tables), first, &g.states)
		return chainsOf(made), err
	})
	if err != nil {
		return err
	}
	defer made.Close()
	_, err = g.data.SetPolicy(g.settings, g.services, made)
	return err
}

func protection6(r nf.Remote) []nf.Step {
	return []nf.Step{
		{Name: "allowlist", Number: 1, Function: nf.Allowlist{Remote: r}},
		{Name: "blocklist", Number: 2, Function: nf.Blocklist{}},
		{Name: "geofence", Number: 3, Function: nf.Geofence{}},
	}
}

// sixRemote is whom sixGateway denies.
var sixRemote = nf.Remote{
	In:  nf.Addresses{Allowed: set6(exempt), Blocked: set6(deniedIn, exempt), Fenced: set6(deniedBoth)},
	Out: nf.Addresses{Allowed: set6(exempt), Blocked: set6(deniedOut, exempt), Fenced: set6(deniedBoth)},
}

// sixGateway forwards IPv6, and denies by blocklist or geofence what the remote ends say.
func sixGateway(t *testing.T) *gateway {
	t.Helper()
	g := newGateway(t, timeouts(func(s *datapath.Settings) { s.ForwardIPv6 = true }))
	check(t, g.namespace.EnableIPv6(true))
	check(t, g.namespace.Address("eth0", "2001:db8::1/64"))
	g.in(g.data.Refresh)
	g.in(func() error {
		return g.protect(sixRemote)
	})
	return g
}

// behind puts extension headers before what a packet carries; all are 8 bytes but those
// with a length.
func behind(p packets.Packet, kinds ...byte) packets.Packet {
	inner := p.Clone()
	payload := inner.Network()[40:]
	next := byte(packets.ICMPv6)
	switch {
	case p.TCP != nil:
		next = byte(model.TCP)
	case p.UDP != nil:
		next = byte(model.UDP)
	}
	for i := len(kinds) - 1; i >= 0; i-- {
		payload = append([]byte{next, 0, 0, 0, 0, 0, 0, 0}, payload...)
		next = kinds[i]
	}
	return packets.Packet{IPv6: &packets.IPv6{Source: p.IPv6.Source, Destination: p.IPv6.Destination, NextHeader: model.Protocol(next), HopLimit: packets.TTL}, Payload: payload}
}

// Whose flow a packet is of is told from the packet; entries for in and for out hold for
// flows that were begun outside and inside.
func TestFlowsOfIPv6(t *testing.T) {
	t.Parallel()
	g := sixGateway(t)
	tcp := func(source, destination uint16, flags packets.Flags) func(a, b netip.Addr) packets.Packet {
		return func(a, b netip.Addr) packets.Packet {
			return packets.NewTCP(endpoint(a, source), endpoint(b, destination), flags, "")
		}
	}
	udp := func(source, destination uint16) func(a, b netip.Addr) packets.Packet {
		return func(a, b netip.Addr) packets.Packet {
			return packets.NewUDP(endpoint(a, source), endpoint(b, destination), "x")
		}
	}
	icmp := func(icmpType uint8, hops uint8) func(a, b netip.Addr) packets.Packet {
		return func(a, b netip.Addr) packets.Packet {
			p := packets.NewICMP(a, b, icmpType, 0, 0, make([]byte, 16))
			p.IPv6.HopLimit = hops
			return p
		}
	}
	hidden := func(of func(a, b netip.Addr) packets.Packet, kinds ...byte) func(a, b netip.Addr) packets.Packet {
		return func(a, b netip.Addr) packets.Packet { return behind(of(a, b), kinds...) }
	}
	changed := func(of func(a, b netip.Addr) packets.Packet, change func(*packets.Packet)) func(a, b netip.Addr) packets.Packet {
		return func(a, b netip.Addr) packets.Packet { return of(a, b).Change(change) }
	}
	const hopByHop, routing, fragment, authentication, options = 0, 43, 44, 51, 60
	syn, ack := tcp(50000, 443, packets.SYN), tcp(50000, 443, packets.ACK)
	for name, c := range map[string]struct {
		packet            func(a, b netip.Addr) packets.Packet
		outside, fromHost string // whose entries hold: in, out, either, or none
	}{
		"SYN":                              {syn, "in", "out"},
		"SYN to a high port":               {tcp(443, 50000, packets.SYN), "in", "out"},
		"SYN and ACK":                      {tcp(443, 50000, packets.SYN|packets.ACK), "out", "in"},
		"SYN and ACK from a high port":     {tcp(50001, 443, packets.SYN|packets.ACK), "out", "in"},
		"ACK to a service":                 {ack, "in", "out"},
		"ACK from a service":               {tcp(443, 50000, packets.ACK), "out", "in"},
		"ACK between low ports":            {tcp(443, 32767, packets.ACK), "either", "either"},
		"ACK between high ports":           {tcp(32768, 50000, packets.ACK), "either", "either"},
		"RST from a service":               {tcp(443, 50000, packets.RST|packets.ACK), "out", "in"},
		"UDP to a service":                 {udp(50000, 32767), "in", "out"},
		"UDP from a service":               {udp(32767, 32768), "out", "in"},
		"UDP between low ports":            {udp(123, 123), "in", "out"},
		"UDP between high ports":           {udp(50000, 50000), "out", "out"},
		"echo request":                     {icmp(packets.EchoRequest6, 64), "in", "out"},
		"echo reply":                       {icmp(packets.EchoReply6, 64), "out", "in"},
		"too big":                          {icmp(2, 64), "none", "none"},
		"destination unreachable":          {icmp(1, 64), "none", "none"},
		"neighbour solicitation":           {icmp(packets.NeighborSolicitation6, 255), "none", "none"},
		"neighbour solicitation from afar": {icmp(packets.NeighborSolicitation6, 254), "in", "out"},
		"another protocol":                 {changed(syn, func(p *packets.Packet) { p.IPv6.NextHeader = 50 }), "in", "out"},
		"ACK behind headers":               {hidden(tcp(443, 50000, packets.ACK), hopByHop, routing, options, authentication, fragment), "out", "in"},
		"ACK behind as many as are walked": {hidden(tcp(443, 50000, packets.ACK), options, options, options, options, options, options), "out", "in"},
		"ACK behind too many headers":      {hidden(tcp(443, 50000, packets.ACK), options, options, options, options, options, options, options), "in", "out"},
		"ACK behind a header of 2 KiB": {changed(hidden(tcp(443, 50000, packets.ACK), options), func(p *packets.Packet) {
			p.Payload = append(p.Payload[:8], append(make([]byte, 8*255), p.Payload[8:]...)...)
			p.Payload[1] = 255
		}), "in", "out"},
		"ACK that is cut off":         {changed(hidden(tcp(443, 50000, packets.ACK), options), func(p *packets.Packet) { p.Payload = p.Payload[:8+13] }), "in", "out"},
		"a header that is cut off":    {changed(hidden(tcp(443, 50000, packets.ACK), options), func(p *packets.Packet) { p.Payload = p.Payload[:7] }), "in", "out"},
		"a fragment but the first":    {changed(hidden(syn, fragment), func(p *packets.Packet) { p.Payload[3] = 8 }), "either", "either"},
		"a fragment far behind":       {changed(hidden(syn, fragment), func(p *packets.Packet) { p.Payload[2] = 1 }), "either", "either"},
		"the first fragment of a SYN": {changed(hidden(syn, fragment), func(p *packets.Packet) { p.Payload[3] = 1 }), "in", "out"},
	} {
		for public, want := range map[bool]string{true: c.outside, false: c.fromHost} {
			got := map[netip.Addr]bool{} // who is denied
			for _, end := range []netip.Addr{deniedIn, deniedOut, deniedBoth, exempt, netip.MustParseAddr("2001:db8:f::9")} {
				p := outside(c.packet(end, sixInside))
				if !public {
					p = inside(c.packet(sixInside, end))
				}
				switch r := g.send(public, p.Bytes()); {
				case r.action == dataplane.Drop && r.reason == "drop_denied":
					got[end] = true
				case r.action != dataplane.Pass || r.reason != "forwarded_ipv6":
					t.Fatalf("%s, from outside: %v, of %s: %v, %s", name, public, end, r.action, r.reason)
				}
			}
			of := map[[4]bool]string{{true, false, true}: "in", {false, true, true}: "out", {false, false, true}: "either", {}: "none"}
			if of := of[[4]bool{got[deniedIn], got[deniedOut], got[deniedBoth], got[exempt]}]; of != want || len(got) > 2 {
				t.Errorf("%s, from outside: %v: denied are %v, of %q; want %q", name, public, got, of, want)
			}
		}
	}
}

// What the network and the gateway itself need is never judged, and each function counts.
func TestProtectionOfIPv6LeavesAlone(t *testing.T) {
	t.Parallel()
	g := sixGateway(t)
	syn := func(a, b string) []byte {
		return outside(packets.NewTCP(packets.At("["+a+"]:50000"), packets.At("["+b+"]:443"), packets.SYN, "")).Bytes()
	}
	remote := deniedBoth.String()
	g.in(func() error {
		linkLocal := netip.MustParsePrefix("fe80::/10")
		var r model.Ranges
		for _, p := range []netip.Prefix{linkLocal, netip.MustParsePrefix("ff00::/8"), netip.PrefixFrom(deniedBoth, 128)} {
			r.Add(p)
		}
		of := nf.Addresses{Blocked: r.Set()}
		return g.protect(nf.Remote{In: of, Out: of})
	})
	g.passed(g.send(false, syn(remote, "2001:db8::1")), "to_gateway", syn(remote, "2001:db8::1"))
	g.passed(g.send(true, syn("fe80::7", "ff02::1:2")), "to_gateway", syn("fe80::7", "ff02::1:2"))
	g.passed(g.send(true, syn("fe80::7", sixInside.String())), "forwarded_ipv6", syn("fe80::7", sixInside.String()))
	g.passed(g.send(false, syn(sixInside.String(), "fe80::7")), "forwarded_ipv6", syn(sixInside.String(), "fe80::7"))
	g.passed(g.send(false, syn(sixInside.String(), "ff05::2")), "forwarded_ipv6", syn(sixInside.String(), "ff05::2"))
	same(g, "asked", g.seen(1), 0)
	g.dropped(g.send(true, syn(remote, sixInside.String())), "drop_denied")
	g.dropped(g.send(true, syn(remote, "ff05::2")), "drop_denied")
	g.dropped(g.send(true, syn(remote, "2001:db8::1")), "drop_denied") // it guards the gateway, too
	counts := must(g.data.Counts())(t)
	for number, want := range map[int][2]uint64{1: {3, 0}, 2: {3, 3}, 3: {0, 0}} {
		if c := counts[number]; c.Seen != want[0] || c.Dropped != want[1] {
			t.Errorf("function %d has seen %d and dropped %d, want %v", number, c.Seen, c.Dropped, want)
		}
	}
}

// Between two private networks the kernel routes, whatever the protection has.
func TestProtectionOfIPv6LeavesInsideToInside(t *testing.T) {
	t.Parallel()
	g := sixGateway(t)
	check(t, g.namespace.Address("eth1", "2001:db8:1::1/64"))
	check(t, g.namespace.Route("default", "2001:db8::ff"))
	check(t, g.namespace.SetSysctl("net/ipv6/conf/all/forwarding", "1"))
	g.in(func() error {
		all := model.Ranges{V6: []model.AddressRange6{model.RangeOf6(netip.MustParsePrefix("2001:db8::/32"))}}
		of := nf.Addresses{Blocked: all.Set()}
		return g.protect(nf.Remote{In: of, Out: of})
	})
	to := func(a netip.Addr) []byte {
		return inside(packets.NewUDP(endpoint(sixInside, 50000), endpoint(a, 53), "x")).Bytes()
	}
	g.passed(g.send(false, to(sixInside.Next())), "forwarded_ipv6", to(sixInside.Next()))
	g.dropped(g.send(false, to(deniedIn)), "drop_denied")
	g.dropped(g.send(true, to(sixInside.Next())), "drop_denied") // nobody outside is inside
}

// Without IPv6 addresses in the protection nothing is asked, also after there were some.
func TestProtectionWithoutIPv6(t *testing.T) {
	t.Parallel()
	g := sixGateway(t)
	frame := outside(packets.NewUDP(endpoint(deniedBoth, 50000), endpoint(sixInside, 53), "x")).Bytes()
	g.dropped(g.send(true, frame), "drop_denied")
	for range 2 { // generations of both parities
		g.in(func() error { return g.protect(nf.Remote{In: nf.Addresses{Blocked: set6(remote)}}) })
		g.passed(g.send(true, frame), "forwarded_ipv6", frame)
	}
}

// While policies change, none of what all of them allow is lost, and nothing passes that
// all of them deny, each by another list: no packet meets two of them.
func TestProtectionOfIPv6ChangesUnderTraffic(t *testing.T) {
	t.Parallel()
	g := sixGateway(t)
	policies := []nf.Remote{
		{In: nf.Addresses{Blocked: set6(deniedIn)}}, {In: nf.Addresses{Fenced: set6(deniedOut, deniedIn), Allowed: set6(deniedOut)}},
	}
	frame := func(from netip.Addr) []byte {
		return outside(packets.NewUDP(endpoint(from, 50000), endpoint(sixInside, 53), "x")).Bytes()
	}
	good, bad := frame(deniedOut), frame(deniedIn)
	g.in(func() error { return g.protect(policies[0]) })
	sent := 0
	g.during(func() error {
		sent++
		for want, f := range map[dataplane.Action][]byte{dataplane.Pass: good, dataplane.Drop: bad} {
			if action, _, err := g.inject(true, g.public, f); err != nil || action != want {
				return fmt.Errorf("%v, want %v: %w", action, want, err)
			}
		}
		return nil
	}, func() error {
		for n := range 2 * *swaps {
			if err := g.protect(policies[(n+1)%2]); err != nil {
				return err
			}
		}
		return nil
	})
	if n := g.counters()["drop_internal"]; n > 0 {
		t.Errorf("%d packets met no policy", n)
	}
	t.Logf("%d packets of each kind during %d changes", sent, 2**swaps)
}
