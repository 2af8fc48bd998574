package datapath

import (
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/filter"
)

func (g *gateway) ban(until time.Time, prefixes ...netip.Prefix) {
	g.t.Helper()
	bans := map[netip.Prefix]time.Time{}
	for _, p := range prefixes {
		bans[p] = until
	}
	g.in(func() error { return g.data.PutBans(bans) })
}

// A ban ends what is open at the next packet, keeps out who would come and in who would
// go, and whoever asks the gateway itself; nobody else notices, under the same chains.
func TestBan(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.chained([]nf.Rule{{Direction: model.Out}}, deny(1, nf.Rule{Protocol: model.TCP, Ports: model.Ports{First: 25, Last: 25}}))
	busy, other := endpoint(remote, 50000), endpoint(remote2, 50000)
	g.lend(pool1, 80, service, func(r *datapath.Reservation) { r.Claims = 4 })
	g.established(busy, lent, service)
	g.established(other, lent, service)
	toUs := udp(endpoint(remote, 1000), endpoint(publicAddress, 53))
	g.passed(g.put(toUs), "to_gateway", addressed(toUs).Bytes())

	g.ban(datapath.Forever, netip.PrefixFrom(remote, 32))
	g.dropped(g.put(tcp(busy, lent, packets.ACK)), "drop_banned")
	g.dropped(g.put(tcp(endpoint(remote, 50001), lent, packets.SYN)), "drop_banned")
	g.dropped(g.put(toUs), "drop_banned")
	for _, p := range []packets.Packet{tcp(service, busy, packets.ACK), udp(inA, server)} {
		g.refused(g.put(p), p, "drop_banned", privateAddress, 3, 13, 0)
	}
	g.leaves(g.put(tcp(other, lent, packets.ACK)), tcp(other, service, packets.ACK))
	g.mapped(udp(inA, server2))
	g.denied(tcp(inA, endpoint(remote2, 25), packets.SYN))

	g.in(func() error { return g.data.DeleteBans([]netip.Prefix{netip.PrefixFrom(remote, 32)}) })
	g.leaves(g.put(tcp(busy, lent, packets.ACK)), tcp(busy, service, packets.ACK))
}

// The kernel ends a ban by itself, and prefixes ban all that they have.
func TestBanOfAPrefixEnds(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.ban(time.Now().Add(time.Hour), netip.PrefixFrom(remote, 24).Masked())
	g.ban(time.Now().Add(-time.Second), netip.MustParsePrefix("192.0.2.0/24"))
	p := udp(inA, server)
	g.refused(g.put(p), p, "drop_banned", privateAddress, 3, 13, 0)
	g.mapped(udp(inA, endpoint(netip.MustParseAddr("192.0.2.1"), 53)))
	if list := must(g.data.Banned())(t); len(list) != 2 {
		t.Errorf("banned: %v", list)
	}
}

// A ban that comes while a reload makes its chains does not stop the reload.
func TestBanDuringAReload(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.in(func() error {
		made, err := g.data.MakeChains(func(tables datapath.ChainTables, first uint32) (datapath.Chains, error) {
			chains := []nf.Chain{{Name: "none", Rules: []nf.Rule{{}}, Steps: deny(1, nf.Rule{})}}
			made, err := nf.Build(nf.Policy{Chains: chains}, nf.Shared(tables), first, &g.states)
			return chainsOf(made), err
		})
		if err != nil {
			return err
		}
		defer made.Close()
		if err = g.data.PutBans(map[netip.Prefix]time.Time{netip.PrefixFrom(remote, 32): datapath.Forever}); err != nil {
			return err
		}
		_, err = g.data.SetPolicy(g.settings, g.services, made)
		return err
	})
	p := udp(inA, server)
	g.refused(g.put(p), p, "drop_banned", privateAddress, 3, 13, 0)
	g.denied(udp(inA, server2))
}

// More addresses than the table of single ones holds are banned all the same, and each
// ban ends when it is to, wherever it stands.
func TestBansOfManyAddresses(t *testing.T) {
	t.Parallel()
	const many = 1<<16 + 500
	g := newGateway(t)
	at := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{45, byte(i >> 16), byte(i >> 8), byte(i)}) }
	list := make([]netip.Prefix, many)
	for i := range list {
		list[i] = netip.PrefixFrom(at(i), 32)
	}
	g.ban(datapath.Forever, list...)
	ask := func(i int) bool { // whether what leaves for it is dropped
		return g.put(udp(inA, endpoint(at(i), 53))).reason == "drop_banned"
	}
	for _, i := range []int{0, many / 2, many - 1} {
		if !ask(i) {
			t.Errorf("address %d is not banned", i)
		}
	}
	in := must(g.data.Banned())(t)
	if len(in) != many {
		t.Errorf("%d bans, want %d", len(in), many)
	}
	last := in[many-1].Addr().As4() // prefixes come last: it stands among them
	other := int(last[1])<<16 | int(last[2])<<8 | int(last[3])
	g.in(func() error { return g.data.DeleteBans(in[:1000]) }) // room among the addresses
	g.ban(time.Now().Add(-time.Second), list[other])
	if ask(other) {
		t.Error("a ban that is over was left where it stood before")
	}
	g.in(func() error { return g.data.DeleteBans(list) })
	if left := must(g.data.Banned())(t); len(left) != 0 {
		t.Errorf("%d bans are left", len(left))
	}
}

// What has no IPv4 source is not banned by a prefix that has 0.0.0.0, and ICMP errors of
// who is banned reach nobody, whatever they are about.
func TestBanAndWhatIsNoFlow(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.mapped(udp(inA, server2))
	lost := packets.NewUDP(out, server2, "some data")
	mistake := packets.NewICMPError(remote, outbound, 3, 1, 0, lost, 8)
	g.forwarded(g.put(mistake))
	question := packets.NewARPRequest(packets.RouterMAC, router, publicAddress).Bytes()
	g.passed(g.send(true, question), "to_gateway", question)
	g.ban(datapath.Forever, netip.MustParsePrefix("0.0.0.0/8"), netip.PrefixFrom(remote, 32))
	g.passed(g.send(true, question), "to_gateway", question)
	g.dropped(g.put(mistake), "drop_banned")
}

// A ban has flows judged again, but not one of IPv6, which has no sessions.
func TestBansOfIPv6LeaveSessionsAlone(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.in(func() error {
		return g.enforce(nf.Policy{Chains: []nf.Chain{{Name: "all", Rules: []nf.Rule{{}}, Steps: []nf.Step{{Name: "all/filter", Number: 1, Function: filter.Filter{}}}}}})
	})
	out := g.connected(inA, server)
	before := g.seen(1)
	g.ban(datapath.Forever, netip.MustParsePrefix("2001:db8:9::/64"))
	g.leaves(g.put(tcp(server, out, packets.ACK)), tcp(server, inA, packets.ACK))
	same(g, "flows judged again after a ban of IPv6", g.seen(1), before)
	g.ban(datapath.Forever, netip.MustParsePrefix("198.51.100.77/32"))
	g.leaves(g.put(tcp(server, out, packets.ACK)), tcp(server, inA, packets.ACK))
	same(g, "flows judged again after a ban of IPv4", g.seen(1), before+1)
}
