package datapath

import (
	"maps"
	"net/netip"
	"slices"
	"testing"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/dnat"
	"github.com/realmgate/realmgate/internal/nf/mirror"
)

// dryWay is a packet whose way leads by a table that it changes when it is real.
type dryWay struct {
	name    string
	public  bool
	packet  packets.Packet
	lent    datapath.Lease // then it is not sent: nobody lends that
	want    model.Reason
	changes string // the table; empty: none but what counts
}

// dryOf opens dry runs with the chains of a policy in force.
func (g *gateway) dryOf(policy nf.Policy) *datapath.Dry {
	g.t.Helper()
	return g.dryRun(func(tables datapath.ChainTables, first uint32) (datapath.Chains, error) {
		states := g.states.Look()
		defer states.Forget()
		made, err := nf.Build(policy, nf.Shared(tables), first, states)
		return chainsOf(made), err
	})
}

// changed are the tables in which something is other than before.
func (g *gateway) changed(do func()) (names []string) {
	before := g.contents()
	do()
	after := g.contents()
	return slices.DeleteFunc(slices.Collect(maps.Keys(before)), func(name string) bool { return before[name] == after[name] })
}

// settled waits until no table changes by itself: who was answered by the last packet may have answered in turn.
func (g *gateway) settled() {
	g.t.Helper()
	const tries = 100
	for range tries {
		if len(g.changed(func() {})) == 0 {
			return
		}
	}
	g.t.Fatal("tables change all the time")
}

// goes wants a packet to change nothing dry, and then, real, what lies on its way.
func (g *gateway) goes(dry *datapath.Dry, way dryWay) {
	g.t.Helper()
	g.settled()
	changed := g.changed(func() {
		if end := g.dryLent(dry, way.public, way.packet.Bytes(), way.lent); end != way.want {
			g.t.Errorf("%s: dry it ends with %s, want %s", way.name, end, way.want)
		}
	})
	if len(changed) > 0 {
		g.t.Errorf("%s: dry it changed %v", way.name, changed)
	}
	if way.lent.Host.IsValid() {
		return
	}
	before := g.contents()
	if way.public {
		g.fromOutside(outside(way.packet))
	} else {
		g.fromInside(inside(way.packet))
	}
	after := g.contents()
	if way.changes != "" && before[way.changes] == after[way.changes] {
		maps.DeleteFunc(before, func(name string, sum uint64) bool { return after[name] == sum })
		g.t.Errorf("%s: real it leaves %s as it is, and changes %v", way.name, way.changes, slices.Sorted(maps.Keys(before)))
	}
}

// Who comes to the pool: by a claim of UDP, as one who is known, in the place of a connection that has proved nothing, and to
// what is taken to be lent.
func TestDryRunChangesNoTableOfThePool(t *testing.T) {
	t.Parallel()
	const ring = 16 // 4,096 sessions / 16 / 16 bindings
	g := newGateway(t, func(s *setup) { s.Bindings = 16 })
	g.lend(pool1, 80, service, nil)
	g.visits(client)
	g.reserve(g.bind(pool1, hostB, model.Port{Protocol: model.UDP, Port: 53, To: 53}), nil)
	g.lend(pool2, 80, endpoint(hostB, 8080), nil)
	for n := range ring {
		g.forwarded(g.put(segment(stranger(n), endpoint(pool2, 80), packets.SYN, clientISN, 0)))
	}
	g.policy(append(g.services, datapath.Service{Host: hostA, Protocol: model.UDP, Port: 53}, datapath.Service{Host: hostB, Protocol: model.UDP, Port: 53})...)
	dry := g.dryRun(nil)
	known := netip.AddrPortFrom(client.Addr(), client.Port()+1)
	for _, way := range []dryWay{
		{name: "a claim of UDP", public: true, packet: udp(client2, endpoint(pool1, 53)), want: "forwarded", changes: "reservation_table"},
		{name: "a known client", public: true, packet: segment(known, lent, packets.SYN, clientISN, 0), want: "forwarded", changes: "tentative_table"},
		{name: "in another's place", public: true, packet: segment(stranger(ring), endpoint(pool2, 80), packets.SYN, clientISN, 0), want: "forwarded", changes: "statistics"},
		{name: "lent", public: true, packet: udp(client2, endpoint(pool2, 53)), lent: datapath.Lease{Host: hostA, Port: 53}, want: "forwarded"},
		{name: "lent whole", public: true, packet: echo(remote2, pool2, 7), lent: datapath.Lease{Host: hostA, Whole: true}, want: "forwarded"},
	} {
		g.goes(dry, way)
	}
}

// Who comes to what dnat sends on or to a host's own address, from outside and through a hairpin.
func TestDryRunChangesNoTableOfDnat(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	sends := forward{to: dnat1, protocol: model.UDP, port: 53, dnat: dnat.Dnat{Address: hostA}}
	g.settings.Own = map[netip.Addr]netip.Addr{hostB: alone}
	g.forwards([]forward{sends})
	g.in(func() error { return g.data.SetAddresses([]netip.Addr{pool1, pool2}, []netip.Addr{dnat1}, alone) })
	g.lend(pool1, 80, service, func(r *datapath.Reservation) { r.Claims = 2 })
	dry := g.dryOf(nf.Policy{Chains: []nf.Chain{sends.chain(1)}})
	for _, way := range []dryWay{
		{name: "dnat", public: true, packet: udp(server, endpoint(dnat1, 53)), want: "forwarded"},
		{name: "dnat through a hairpin", packet: udp(endpoint(hostB, 40000), endpoint(dnat1, 53)), want: "forwarded"},
		{name: "a host's own", public: true, packet: udp(server, endpoint(alone, 22)), want: "forwarded"},
		{name: "a host's own through a hairpin", packet: udp(inA, endpoint(alone, 22)), want: "forwarded"},
		{name: "out of a host's own", packet: udp(endpoint(hostB, 40001), server), want: "forwarded"},
		{name: "the pool through a hairpin", packet: segment(endpoint(hostB, 40002), lent, packets.SYN, clientISN, 0), want: "forwarded"},
	} {
		way.changes = "session_table"
		g.goes(dry, way)
	}
}

// Who comes to the gateway itself: to ports of the honeypot, and to the name server.
func TestDryRunChangesNoTableOfTheGateway(t *testing.T) {
	t.Parallel()
	g := asked(t)
	policy := honeypotAt(nf.Addresses{})
	g.in(func() error { return g.enforce(policy) })
	dry := g.dryOf(policy)
	for _, way := range []dryWay{
		{name: "a port of the honeypot", public: true, packet: knocking(endpoint(remote, 40000), endpoint(publicAddress, telnet)), want: "answered_honeypot", changes: "answer_budgets"},
		{name: "one of UDP", public: true, packet: udp(server, endpoint(publicAddress, 1900)), want: "drop_honeypot"},
		{name: "a question", public: true, packet: datagram(askedFrom, question(t, lentName, dns.TypeA, 0)), want: "to_gateway", changes: "questions"},
	} {
		check(t, g.data.Heartbeat(secrets)) // the dry run was compiled meanwhile, for longer than one lasts
		g.goes(dry, way)
	}
}

// IPv6, which the protection looks at and nobody opens anything for.
func TestDryRunChangesNoTableOfIPv6(t *testing.T) {
	t.Parallel()
	g := sixGateway(t)
	dry := g.dryOf(nf.Policy{Protection: protection6(sixRemote)})
	for _, way := range []dryWay{
		{name: "denied", public: true, packet: udp(endpoint(deniedIn, 4000), endpoint(sixInside, 80)), want: "drop_denied", changes: "nf_counts"},
		{name: "exempt", public: true, packet: udp(endpoint(exempt, 4000), endpoint(sixInside, 80)), want: "forwarded_ipv6", changes: "nf_counts"},
	} {
		g.goes(dry, way)
	}
}

// What is refused is answered, and that answer is of the session, too: a session that another generation judged is not
// judged by a dry run, nor by the answer to it.
func TestDryRunJudgesNoSessionByItsAnswer(t *testing.T) {
	t.Parallel()
	g := newGateway(t, timeouts(func(s *datapath.Settings) { s.Refuse = true }))
	p := packets.NewIP(hostA, pool2, model.ESP, make([]byte, 40))
	g.fromInside(inside(p))
	policy := nf.Policy{Chains: []nf.Chain{{Name: "all", Rules: []nf.Rule{{}}, Steps: []nf.Step{{Name: "all/mirror", Number: 2, Function: mirror.Mirror{}}}}}}
	g.in(func() error { return g.enforce(policy) })
	dry := g.dryOf(policy)
	g.goes(dry, dryWay{name: "an open session whose packet is refused", packet: p, want: "drop_no_binding", changes: "session_table"})
}
