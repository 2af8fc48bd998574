package datapath

import (
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/test/dataplane"
)

func (g *gateway) exempt(prefixes ...netip.Prefix) {
	g.t.Helper()
	g.in(func() error { return g.data.ExcludeFromBans(prefixes) })
}

// Who is exempt is dropped neither by a ban of a wider prefix nor by one of itself that
// was there before; others of the prefix are, and it is again when it is exempt no more.
func TestExemptUnderABan(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	alone, around := netip.PrefixFrom(remote, 32), netip.PrefixFrom(remote, 24).Masked()
	g.ban(datapath.Forever, alone, around)
	g.refused(g.put(udp(inA, server)), udp(inA, server), "drop_banned", privateAddress, 3, 13, 0)
	g.exempt(alone)
	g.mapped(udp(inA, server))
	neighbour := udp(inA, endpoint(remote.Next(), 53))
	g.refused(g.put(neighbour), neighbour, "drop_banned", privateAddress, 3, 13, 0)
	g.in(func() error { return g.data.DeleteBans([]netip.Prefix{alone}) })
	g.in(g.data.JudgeAgain)
	g.refused(g.put(udp(inA, server)), udp(inA, server), "drop_banned", privateAddress, 3, 13, 0)
	g.ban(datapath.Forever, alone) // and a ban takes the place of what exempts
	g.exempt(alone)
	g.ban(datapath.Forever, alone)
	if banned := must(dataplane.IsBanned(g.data, remote))(t); !banned {
		t.Error("a ban after it was exempt is none")
	}
}

// question6 asks from one IPv6 address to another.
func question6(from, to string) packets.Packet {
	return outside(packets.NewUDP(endpoint(netip.MustParseAddr(from), 1000), endpoint(netip.MustParseAddr(to), 53), "x"))
}

// A ban of IPv6 drops what comes from there, also for the gateway itself, and what goes
// there from inside; not what a link needs, and nobody who is exempt.
func TestBanOfIPv6(t *testing.T) {
	t.Parallel()
	g := newGateway(t, timeouts(func(s *datapath.Settings) { s.ForwardIPv6 = true }))
	check(t, g.namespace.EnableIPv6(true))
	check(t, g.namespace.Address("eth0", "2001:db8::1/64"))
	g.in(g.data.Refresh)
	const own, banned, exempt, other, inside = "2001:db8::1", "2001:db8:7::1", "2001:db8:7::2", "2001:db8:8::1", "2001:db8:1::5"
	passes := func(public bool, from, to string, reason model.Reason) {
		t.Helper()
		frame := question6(from, to).Bytes()
		g.passed(g.send(public, frame), reason, frame)
	}
	dropped := func(public bool, from, to string) {
		t.Helper()
		g.dropped(g.send(public, question6(from, to).Bytes()), "drop_banned")
	}
	passes(true, banned, own, "to_gateway")
	passes(true, banned, inside, "forwarded_ipv6")
	g.ban(datapath.Forever, netip.MustParsePrefix("2001:db8:7::/64"), netip.MustParsePrefix("fe80::/10"))
	g.exempt(netip.MustParsePrefix(exempt + "/128"))
	dropped(true, banned, own)
	dropped(true, banned, inside)
	dropped(true, banned, "ff02::1")
	dropped(false, inside, banned)
	passes(false, inside, exempt, "forwarded_ipv6")
	passes(true, exempt, inside, "forwarded_ipv6")
	passes(true, other, inside, "forwarded_ipv6")
	passes(false, inside, other, "forwarded_ipv6")
	passes(false, banned, inside, "forwarded_ipv6") // of inside is asked where it goes
	passes(true, "fe80::1", "ff02::1", "to_gateway")
	p := udp(inA, server)
	g.mapped(p)

	ask := question6(banned, "ff02::1:ff00:1").Bytes()
	for _, c := range []struct {
		next, hops, kind byte
		dropped          bool
	}{{58, 255, 135, false}, {58, 255, 133, false}, {58, 255, 137, false}, {58, 254, 135, true}, {58, 255, 132, true}, {58, 255, 138, true}, {17, 255, 135, true}} {
		const ip = 14
		ask[ip+6], ask[ip+7], ask[ip+40] = c.next, c.hops, c.kind
		if r := g.send(true, ask); c.dropped {
			g.dropped(r, "drop_banned")
		} else {
			g.passed(r, "to_gateway", ask)
		}
	}

	g.ban(time.Now().Add(-time.Second), netip.MustParsePrefix("2001:db8:7::/64")) // it is over
	passes(true, banned, inside, "forwarded_ipv6")
	list := must(g.data.Banned())(t)
	if len(list) != 3 {
		t.Errorf("in the kernel are %v", list)
	}
	g.in(func() error { return g.data.DeleteBans(list) })
	if left := must(g.data.Banned())(t); len(left) != 0 {
		t.Errorf("%v are left", left)
	}
}
