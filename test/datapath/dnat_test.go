package datapath

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/dnat"
	"github.com/realmgate/realmgate/internal/nf/filter"
	"github.com/realmgate/realmgate/internal/nf/mirror"
	"github.com/realmgate/realmgate/test/dataplane"
)

// dnat1 is for dnat alone.
var dnat1 = netip.MustParseAddr("198.18.0.48")

// forward is a chain that sends flows on.
type forward struct {
	from, to   netip.Addr // from: zero for all
	protocol   model.Protocol
	port, last uint16
	dnat       dnat.Dnat
	function   nf.Function // instead of dnat, where it is not nil
	deny       []nf.Rule   // of a filter behind it
}

func (f forward) chain(number uint32) nf.Chain {
	rule := nf.Rule{Direction: model.In, Destination: netip.PrefixFrom(f.to, 32), Protocol: f.protocol}
	if f.from.IsValid() {
		rule.Source = netip.PrefixFrom(f.from, 32)
	}
	if f.port > 0 {
		rule.Ports = model.Ports{First: f.port, Last: max(f.port, f.last)}
	}
	sends := f.function
	if sends == nil {
		sends = f.dnat
	}
	steps := []nf.Step{{Name: fmt.Sprint("dnat ", number), Number: 2 * number, Function: sends}}
	if f.deny != nil {
		steps = append(steps, nf.Step{Name: fmt.Sprint("filter ", number), Number: 2*number + 1, Function: filter.Filter{Deny: f.deny}})
	}
	return nf.Chain{Name: fmt.Sprint(number), Rules: []nf.Rule{rule}, Steps: steps, Dnat: true}
}

// ports are those of the outbound address.
func (f forward) ports() (list []datapath.Service) {
	for port := f.port; f.to == outbound && port <= max(f.port, f.last); port++ {
		list = append(list, datapath.Service{Host: outbound, Protocol: f.protocol, Port: port})
	}
	return list
}

// forwards puts chains into force that send flows on, and others.
func (g *gateway) forwards(list []forward, others ...nf.Chain) {
	g.t.Helper()
	chains, services := others, slices.Clone(g.services)
	for i, f := range list {
		chains = append(chains, f.chain(uint32(1+i)))
		services = append(services, f.ports()...)
	}
	g.in(func() error {
		if err := g.data.SetAddresses([]netip.Addr{pool1, pool2}, []netip.Addr{dnat1}); err != nil {
			return err
		}
		made, err := g.data.MakeChains(func(tables datapath.ChainTables, first uint32) (datapath.Chains, error) {
			made, err := nf.Build(nf.Policy{Chains: chains}, nf.Shared(tables), first, &g.states)
			return chainsOf(made), err
		})
		if err != nil {
			return err
		}
		defer made.Close()
		_, err = g.data.SetPolicy(g.settings, services, made)
		g.states.Keep()
		return err
	})
}

// sound wants the tables to agree with each other.
func (g *gateway) sound() {
	g.t.Helper()
	if census, err := dataplane.Audit(g.data); err != nil {
		g.t.Fatalf("%v\n%+v", err, census)
	}
}

func (g *gateway) origins() (list []string) {
	g.t.Helper()
	for _, s := range g.sessions() {
		list = append(list, s.Origin)
	}
	slices.Sort(list)
	return list
}

var (
	shop   = endpoint(outbound, 8000) // sent to shopIn
	shopIn = endpoint(hostA, 80)
)

func tcpTo(public, private netip.AddrPort) forward {
	return forward{to: public.Addr(), protocol: model.TCP, port: public.Port(), dnat: dnat.Dnat{Address: private.Addr(), Port: private.Port()}}
}

// A port of an outbound address leads to a host; other ports and protocols of it do not.
func TestDnatForwardsAPort(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.forwards([]forward{tcpTo(shop, shopIn)})
	g.established(client, shop, shopIn)
	same(g, "origins", fmt.Sprint(g.origins()), "[dnat]")
	same(g, "state", g.state(), "established")
	g.sound()
	g.dropped(g.put(tcp(client, endpoint(outbound, 8001), packets.SYN)), "drop_no_mapping")
	g.dropped(g.put(udp(client, shop)), "drop_no_mapping")
	g.dropped(g.put(tcp(client2, shop, packets.ACK)), "drop_no_mapping")
	g.leaves(g.put(ttl1(tcp(client, shop, packets.ACK)).Change(func(p *packets.Packet) { p.IPv4.TTL = 2 })),
		tcp(client, shopIn, packets.ACK).Change(func(p *packets.Packet) { p.IPv4.TTL = 2 }))
	g.dropped(g.put(ttl1(tcp(client2, shop, packets.SYN))), "drop_ttl_expired")
	g.dropped(g.fromOutside(outside(tcp(endpoint(hostB, 1), shop, packets.SYN))), "drop_spoofed_source")
	g.mapped(tcp(shopIn, client2, packets.SYN)) // another flow of the same host
	g.sound()
	g.idle(7441e9)
	g.idle(121e9)
	g.count(0)
	g.sound()
}

// Whoever forges SYNs to a port that is sent on keeps each session for 10 s, established ones their own time.
func TestDnatForgetsSYNsSoon(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.forwards([]forward{tcpTo(shop, shopIn)})
	g.established(client, shop, shopIn)
	g.leaves(g.put(tcp(client2, shop, packets.SYN)), tcp(client2, shopIn, packets.SYN))
	g.idle(9 * time.Second)
	g.count(2)
	g.idle(2 * time.Second)
	g.count(1)
	same(g, "what is left", g.state(), "established")
	g.sound()
}

// Ranges keep their ports, and one port of the inside may be many outside.
func TestDnatOfARange(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	kept := forward{to: outbound, protocol: model.UDP, port: 5000, last: 5100, dnat: dnat.Dnat{Address: hostB}}
	one := forward{to: outbound, protocol: model.UDP, port: 6000, last: 6001, dnat: dnat.Dnat{Address: hostB, Port: 7000}}
	g.forwards([]forward{kept, one})
	for _, port := range []uint16{5000, 5050, 5100} {
		g.leaves(g.put(udp(client, endpoint(outbound, port))), udp(client, endpoint(hostB, port)))
		g.leaves(g.put(udp(endpoint(hostB, port), client)), udp(endpoint(outbound, port), client))
	}
	to := endpoint(hostB, 7000)
	g.leaves(g.put(udp(client, endpoint(outbound, 6000))), udp(client, to))
	g.dropped(g.put(udp(client, endpoint(outbound, 6001))), "drop_session_conflict") // the host could not tell them apart
	g.leaves(g.put(udp(client2, endpoint(outbound, 6001))), udp(client2, to))
	g.leaves(g.put(udp(to, client2)), udp(endpoint(outbound, 6001), client2))
	g.dropped(g.put(udp(client, endpoint(outbound, 5101))), "drop_no_mapping")
	g.sound()
}

// An address that nothing else is for: the gateway answers ARP for it, and every port,
// and ping, leads to one host. What that host begins itself goes out as anybody's.
func TestDnatOfAnAddress(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.forwards([]forward{{to: dnat1, dnat: dnat.Dnat{Address: hostA}}})
	ask := packets.NewARPRequest(packets.RouterMAC, router, dnat1)
	same(g, "reason", g.send(true, ask.Bytes()).reason, "answered_arp")
	for _, port := range []uint16{22, 4000} {
		g.established(client, endpoint(dnat1, port), endpoint(hostA, port))
		g.leaves(g.put(udp(client, endpoint(dnat1, port))), udp(client, endpoint(hostA, port)))
		g.leaves(g.put(udp(endpoint(hostA, port), client)), udp(endpoint(dnat1, port), client))
	}
	g.leaves(g.put(echo(remote, dnat1, 7)), echo(remote, hostA, 7))
	g.leaves(g.put(echoReply(hostA, remote, 7)), echoReply(dnat1, remote, 7))
	same(g, "outbound", g.mapped(udp(inA, server)).Addr(), outbound)
	g.sound()
	g.forwards(nil)
	g.dropped(g.put(udp(client2, endpoint(dnat1, 22))), "drop_no_binding")
}

// Who comes from where decides, and a filter behind the dnat sees flows as they came.
func TestDnatBySource(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	dns := endpoint(outbound, 53)
	named := func(from, host netip.Addr) forward {
		return forward{from: from, to: outbound, protocol: model.UDP, port: 53, dnat: dnat.Dnat{Address: host}}
	}
	first := named(remote, hostA)
	first.deny = []nf.Rule{{Destination: netip.PrefixFrom(outbound, 32), Source: netip.PrefixFrom(remote, 32), Ports: model.Ports{First: 53, Last: 53}}}
	g.forwards([]forward{first, named(remote2, hostB)})
	g.dropped(g.put(udp(client, dns)), "drop_denied")
	g.leaves(g.put(udp(client2, dns)), udp(client2, endpoint(hostB, 53)))
	g.forwards([]forward{named(remote, hostA), named(remote2, hostB)})
	g.leaves(g.put(udp(client, dns)), udp(client, endpoint(hostA, 53)))
	g.leaves(g.put(udp(client2, dns)), udp(client2, endpoint(hostB, 53)))
	g.dropped(g.put(udp(endpoint(never, 9), dns)), "drop_no_mapping")
	g.sound()
}

// Other chains are asked about what dnat leaves alone, by private addresses; what it
// sends on is judged as it came.
func TestDnatAndOtherChains(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.forwards([]forward{{from: remote, to: outbound, protocol: model.TCP, port: 8000, dnat: dnat.Dnat{Address: hostA, Port: 80}}},
		nf.Chain{Name: "in", Rules: []nf.Rule{{Direction: model.In}}, Steps: deny(9, nf.Rule{})})
	g.lend(pool1, 80, service, nil)
	g.dropped(g.put(tcp(client, lent, packets.SYN)), "drop_denied")
	g.established(client, shop, shopIn)
}

// A chain that would send on what comes to the pool sends nothing on: there bindings alone say
// whose a packet is (I9).
func TestDnatLeavesThePoolAlone(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.forwards([]forward{{to: pool1, dnat: dnat.Dnat{Address: hostB}}, {to: pool2, protocol: model.TCP, port: 80, dnat: dnat.Dnat{Address: hostB}}})
	g.dropped(g.put(syn(client)), "drop_no_binding")
	g.lend(pool1, 80, service, nil)
	g.visits(client)
	g.dropped(g.put(syn(client2)), "drop_no_reservation")
	g.dropped(g.put(udp(client, endpoint(pool1, 53))), "drop_no_binding")
	g.dropped(g.put(tcp(client, endpoint(pool2, 80), packets.SYN)), "drop_no_binding")
	g.count(1)
}

// A session ends at its next packet when it would be sent elsewhere now, and goes on
// when that is taken back.
func TestDnatChanges(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	old := []forward{tcpTo(shop, shopIn)}
	for what, now := range map[string][]forward{
		"removed":       nil,
		"another port":  {tcpTo(shop, endpoint(hostA, 81))},
		"another host":  {tcpTo(shop, endpoint(hostB, 80))},
		"of others now": {{from: never, to: outbound, protocol: model.TCP, port: 8000, dnat: dnat.Dnat{Address: hostA, Port: 80}}},
	} {
		t.Log(what)
		g.forwards(old)
		g.established(client, shop, shopIn)
		g.forwards(now)
		g.dropped(g.put(tcp(client, shop, packets.ACK)), "drop_service_closed")
		back := tcp(shopIn, client, packets.ACK)
		g.refused(g.put(back), back, "drop_service_closed", privateAddress, 3, 13, 0)
		g.forwards(old)
		g.leaves(g.put(tcp(client, shop, packets.ACK)), tcp(client, shopIn, packets.ACK))
		g.forwards(old)
		g.leaves(g.put(tcp(shopIn, client, packets.ACK)), tcp(shop, client, packets.ACK))
		g.sound()
		must(g.data.EndAll())(t)
	}
	g.count(0)
	g.sound()
}

// A closing session is over for who would open it again: the chain is asked.
func TestDnatOpensAgain(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	for _, private := range []netip.AddrPort{shopIn, endpoint(hostA, shop.Port())} { // in no bucket of its own, and in one
		g.forwards([]forward{tcpTo(shop, private)})
		g.established(client, shop, private)
		before := g.did(2)
		g.forwarded(g.put(tcp(client, shop, packets.RST)))
		g.leaves(g.put(tcp(client, shop, packets.SYN)), tcp(client, private, packets.SYN))
		same(g, "state", g.state(), "syn")
		same(g, "packets that the dnat saw", g.did(2).Seen, before.Seen+1)
		g.sound()
		g.leaves(g.put(tcp(private, client, synAck)), tcp(shop, client, synAck))
		g.leaves(g.put(tcp(client, shop, packets.ACK)), tcp(client, private, packets.ACK))
		g.forwards(nil)
		g.dropped(g.put(tcp(client, shop, packets.SYN)), "drop_service_closed")
		g.forwards([]forward{tcpTo(shop, private)})
		g.forwarded(g.put(tcp(client, shop, packets.RST)))
		g.forwards(nil)
		g.dropped(g.put(tcp(client, shop, packets.SYN)), "drop_no_mapping")
		must(g.data.EndAll())(t)
		g.sound()
	}
}

// Where a chain that might send a flow on does not, its functions for every packet are
// not asked about the session that the packet opens otherwise.
func TestDnatThatSendsNowhere(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.settings.Filtering = model.EndpointIndependent
	out := g.mapped(udp(inA, server))
	g.forwards(nil, nf.Chain{
		Name: "seen", Dnat: true, Steps: []nf.Step{{Number: 9, Function: mirror.Mirror{}}},
		Rules: []nf.Rule{{Direction: model.In, Destination: netip.PrefixFrom(outbound, 32), Protocol: model.UDP}},
	})
	for range 3 {
		g.leaves(g.put(udp(server2, out)), udp(server2, inA))
	}
	same(g, "packets that the function saw", g.seen(9), uint64(1))
	g.sound()
}

// Errors about what is sent on reach both ends, about the packets that they sent.
func TestDnatErrors(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	list := []forward{{to: outbound, protocol: model.UDP, port: 8000, dnat: dnat.Dnat{Address: hostA, Port: 80}}}
	g.forwards(list)
	g.leaves(g.put(udp(client, shop)), udp(client, shopIn))
	g.leaves(g.put(unreachable(hostA, 3, 0, udp(client, shopIn), 8)), unreachable2(outbound, remote, 3, udp(client, shop), 8))
	g.leaves(g.put(udp(shopIn, client)), udp(shop, client))
	g.leaves(g.put(unreachable(hop, 1, 0, udp(shop, client), 8)), packets.NewICMPError(hop, hostA, 3, 1, 0, udp(shopIn, client), 8))
	for _, now := range [][]forward{list, nil} { // judged again
		g.forwards(now)
		fromOutside, fromInside := g.put(unreachable(hop, 1, 0, udp(shop, client), 8)), g.put(unreachable(hostA, 3, 0, udp(client, shopIn), 8))
		if now == nil {
			g.dropped(fromOutside, "drop_service_closed")
			g.dropped(fromInside, "drop_service_closed")
			continue
		}
		g.leaves(fromOutside, packets.NewICMPError(hop, hostA, 3, 1, 0, udp(shopIn, client), 8))
		g.leaves(fromInside, unreachable2(outbound, remote, 3, udp(client, shop), 8))
	}
}

// A ban keeps from what dnat sends on, and ends what stands.
func TestDnatAndBans(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.forwards([]forward{tcpTo(shop, shopIn)})
	g.established(client, shop, shopIn)
	g.ban(datapath.Forever, netip.PrefixFrom(remote, 32))
	g.dropped(g.put(tcp(client, shop, packets.ACK)), "drop_banned")
	g.dropped(g.put(tcp(endpoint(remote, 1), shop, packets.SYN)), "drop_no_mapping")
	g.leaves(g.put(tcp(client2, shop, packets.SYN)), tcp(client2, shopIn, packets.SYN))
}
