package datapath

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf/dnat"
	"github.com/realmgate/realmgate/test/dataplane"
	"github.com/realmgate/realmgate/test/frames"
)

// untouched are the reasons with which a packet passes as it is.
var untouched = map[model.Reason]bool{"to_gateway": true, "inside_to_inside": true, "forwarded_ipv6": true}

// Whatever comes in: no private address leaves, nothing passes to the kernel
// untranslated but what is for the gateway, and every packet has one reason.
func TestNothingLeaks(t *testing.T) {
	t.Parallel()
	t.Run("an address of its own", func(t *testing.T) { nothingLeaks(t) })
	t.Run("a shared address", func(t *testing.T) { nothingLeaks(t, shared) })
	t.Run("dnat", func(t *testing.T) {
		nothingLeaks(t, func(s *setup) {
			s.forwards = []forward{{to: dnat1, dnat: dnat.Dnat{Address: hostB}}, tcpTo(endpoint(outbound, 81), endpoint(hostA, 80)),
				{to: outbound, protocol: model.UDP, port: 80, last: 82, dnat: dnat.Dnat{Address: hostA}}}
		})
	})
}

func nothingLeaks(t *testing.T, options ...option) {
	t.Helper()
	const count = 20000
	g := newGateway(t, append(options, filtering(model.EndpointIndependent))...)
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)
	within := []netip.Addr{hostA, hostB, host(1), host(2), remote, remote2, outbound, pool1, dnat1, privateAddress}
	without := []netip.Addr{remote, remote2, never, outbound, pool1, pool2, dnat1, publicAddress, hostA}
	g.in(func() error {
		for n := range count {
			public := n%2 == 0
			p := frames.Random(r, within)
			if public {
				p = frames.Random(r, without)
			}
			few(r, &p)
			frame := p.Bytes()
			if n%4 > 1 {
				frame = frames.Mutate(r, frame)
			}
			if n%100 == 0 {
				g.lend(pool1, 0, endpoint(hostA, 0), func(r *datapath.Reservation) { r.ID = uint64(n+1)<<32 | 3; r.Claims = 8 })
			}
			if runs(frame) {
				g.judge(public, frame)
			}
			if n%100 == 99 {
				must(g.data.Withdraw(uint64(n/100*100+1)<<32 | 3))(t)
			}
		}
		return nil
	})
	var counted uint64
	for _, n := range g.counters() {
		counted += n
	}
	t.Logf("%d sessions, %d packets counted: %v", len(g.sessions()), counted, g.counters())
	g.idle(7441 * time.Second)
	g.idle(121 * time.Second)
	g.idle(2 * time.Second)
	usage := must(g.data.Usage())(t)
	same(g, "sessions left", usage.Sessions, 0)
	same(g, "mappings left", usage.Mappings, 0)
	g.sound()
}

// few makes packets of few flows, so that they meet.
func few(r *rand.Rand, p *packets.Packet) {
	port := func() uint16 { return uint16(80 + r.IntN(4)) }
	switch {
	case p.UDP != nil:
		p.UDP.Source, p.UDP.Destination = port(), port()
	case p.TCP != nil:
		p.TCP.Source, p.TCP.Destination = port(), port()
		if r.IntN(2) == 0 {
			p.TCP.Flags = packets.SYN
		}
	case p.ICMP != nil && p.IPv4 != nil && (p.ICMP.Type == packets.EchoRequest || p.ICMP.Type == packets.EchoReply):
		p.ICMP.Rest = uint32(port()) << 16
	}
}

// judge sends the frame and looks at what came out; it runs in the gateway's
// namespace.
func (g *gateway) judge(public bool, frame []byte) {
	g.t.Helper()
	before := g.counters()
	ifindex := g.private
	if public {
		ifindex = g.public
	}
	action, out, err := g.inject(public, ifindex, frame)
	check(g.t, err)
	var reasons []model.Reason
	for reason, n := range g.counters() {
		if n != before[reason] {
			reasons = append(reasons, reason)
		}
	}
	fail := func(what string) {
		g.t.Helper()
		in, _ := packets.Parse(frame)
		p, _ := packets.Parse(out)
		g.t.Fatalf("%s: %s, public %v\n%v, %v\n%s\n%x\n%x", what, in, public, action, reasons, p, frame, out)
	}
	if len(reasons) == 0 {
		fail("no reason")
	}
	in, _ := packets.Parse(frame)
	p, _ := packets.Parse(out)
	switch action {
	case dataplane.Drop:
		if !reasons[0].IsDrop() && reasons[0] != "held_fragment" {
			fail("dropped without a reason to")
		}
	case dataplane.Pass:
		changed := frames.Diff(frame, out) != ""
		if changed == untouched[reasons[0]] {
			fail("passed to the kernel otherwise than its reason says")
		}
	case dataplane.Redirect:
		if p.IPv4 == nil || reasons[0] == "answered_arp" {
			return
		}
		answered := p.TCP != nil && p.TCP.Flags == packets.RST && in.IPv4.Source == p.IPv4.Destination // where both are one
		if in.IPv4 != nil && in.IPv4.Source == p.IPv4.Source && in.IPv4.Destination == p.IPv4.Destination && !answered {
			fail("redirected untranslated")
		}
		if p.Ethernet.Destination == packets.RouterMAC && (realm.Contains(p.IPv4.Source) || realm.Contains(p.IPv4.Destination)) {
			fail("a private address left")
		}
	default:
		fail("an action that is never taken")
	}
}
