package datapath

import (
	"flag"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/dosdenial"
	"github.com/realmgate/realmgate/internal/nf/filter"
	"github.com/realmgate/realmgate/internal/nf/meter"
	"github.com/realmgate/realmgate/internal/nf/ratelimit"
	"github.com/realmgate/realmgate/test/dataplane"
)

// chained puts chains into force: rules say which chain is whose, by its place.
func (g *gateway) chained(rules []nf.Rule, chains ...[]nf.Step) {
	g.t.Helper()
	g.in(func() error { return g.chain(rules, chains...) })
}

// chain is to be called in the gateway's namespace.
func (g *gateway) chain(rules []nf.Rule, chains ...[]nf.Step) error {
	list := make([]nf.Chain, len(chains))
	for i, steps := range chains {
		list[i].Name, list[i].Steps = fmt.Sprint(i), steps
		for j := range steps {
			steps[j].Name = fmt.Sprintf("%d/%d", i, steps[j].Number)
		}
	}
	for _, r := range rules {
		list[r.Value].Rules = append(list[r.Value].Rules, r)
	}
	return g.enforce(nf.Policy{Chains: list})
}

// enforce puts a policy into force; it is to be called in the gateway's namespace.
func (g *gateway) enforce(policy nf.Policy) error {
	made, err := g.data.MakeChains(func(tables datapath.ChainTables, first uint32) (datapath.Chains, error) {
		made, err := nf.Build(policy, nf.Shared(tables), first, &g.states)
		return chainsOf(made), err
	})
	if err != nil {
		g.states.Forget()
		return err
	}
	defer made.Close()
	if _, err = g.data.SetPolicy(g.settings, g.services, made); err != nil {
		g.states.Forget()
		return err
	}
	g.states.Keep()
	return nil
}

func deny(number uint32, rules ...nf.Rule) []nf.Step {
	return []nf.Step{{Number: number, Function: filter.Filter{Deny: rules}}}
}

// denied wants a packet from inside dropped by a function, and its sender told.
func (g *gateway) denied(p packets.Packet) {
	g.t.Helper()
	const unreachable, filtered = 3, 13
	g.refused(g.put(p), p, "drop_denied", privateAddress, unreachable, filtered, 0)
}

// A filter denies first packets and, once it is there, the next packet of a session
// that it had no part in; what it says nothing about passes.
func TestFilterDeniesFlows(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	busy := endpoint(remote, 50000)
	g.lend(pool1, 80, service, nil)
	g.established(busy, lent, service)
	g.mapped(udp(inA, server)) // both are open before
	g.chained([]nf.Rule{{Direction: model.Out}}, deny(1, nf.Rule{
		Destination: netip.PrefixFrom(remote, 32), Protocol: model.UDP, Ports: model.Ports{First: 53, Last: 53},
	}))
	g.denied(udp(inA, server))
	g.denied(udp(inB, server))
	g.mapped(udp(inB, server2))
	g.mapped(udp(inB, endpoint(remote, 54)))
	g.leaves(g.put(tcp(busy, lent, packets.ACK)), tcp(busy, service, packets.ACK))
	g.chained([]nf.Rule{{Direction: model.In, Source: netip.PrefixFrom(remote, 24)}}, deny(2, nf.Rule{}))
	g.dropped(g.put(tcp(busy, lent, packets.ACK)), "drop_denied")
	g.denied(tcp(service, busy, packets.ACK))
	g.mapped(udp(inA, server))
}

var swaps = flag.Int("swaps", 30, "of chains in TestChainsChangeUnderTraffic; those that change the protection do twice as many")

// While chains change, no packet is lost that all of them let through, and none passes
// that all of them deny: one function of the old chain with another of the new would let
// it. The sessions are judged again each time.
func TestChainsChangeUnderTraffic(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	dns := nf.Rule{Protocol: model.UDP, Ports: model.Ports{First: 53, Last: 53}}
	out := []nf.Rule{{Direction: model.Out}}
	chains := [][]nf.Step{
		{{Number: 1, Function: filter.Filter{Deny: []nf.Rule{dns}}}, {Number: 2, Function: filter.Filter{}}},
		{{Number: 2, Function: filter.Filter{}}, {Number: 1, Function: filter.Filter{Deny: []nf.Rule{dns}}}},
	}
	g.chained(out, chains[0])
	good, bad := addressed(udp(inA, endpoint(remote, 54))).Bytes(), addressed(udp(inB, server)).Bytes()
	g.leaves(g.send(false, good), udp(endpoint(outbound, inA.Port()), endpoint(remote, 54)))
	before := g.counters()
	sent := uint64(0)
	g.during(func() error {
		sent++
		if action, _, err := g.inject(false, g.private, good); err != nil || action != dataplane.Redirect {
			return fmt.Errorf("a packet that is allowed: %v, %w", action, err)
		}
		_, _, err := g.inject(false, g.private, bad) // its sender is told, or not
		return err
	}, func() error {
		for n := range *swaps {
			if err := g.chain(out, chains[(n+1)%2]); err != nil {
				return err
			}
		}
		return nil
	})
	after := g.counters()
	if passed, denied := after["forwarded"]-before["forwarded"], after["drop_denied"]-before["drop_denied"]; passed != sent || denied != sent {
		t.Errorf("of %d packets each, %d passed that are allowed, and %d did not that are denied", sent, passed, denied)
	}
	t.Logf("%d packets of each kind during %d changes", sent, *swaps)
}

// A function that sees every packet drops one of an open flow without ending it, is not
// asked about flows of other chains, and its chain is asked anew when the policy changes.
func TestEveryPacketOfAFlow(t *testing.T) {
	t.Parallel()
	const most = 3
	g := newGateway(t)
	limit := func(number uint32) nf.Step {
		return nf.Step{Number: number, Function: ratelimit.RateLimit{Meter: meter.Meter{
			Per: meter.PerSource, Unit: meter.Packets, Rate: 1.0 / 3600, Burst: most*time.Hour + 30*time.Minute, Entries: 1024,
		}}}
	}
	out := func(protocol model.Protocol, value uint32) nf.Rule {
		return nf.Rule{Direction: model.Out, Protocol: protocol, Value: value}
	}
	rules := []nf.Rule{out(model.UDP, 0), out(model.TCP, 1)}
	g.chained(rules, []nf.Step{limit(1)}, deny(2))
	for range most {
		g.mapped(udp(inA, server))
	}
	g.dropped(g.put(udp(inA, server)), "drop_denied")
	g.dropped(g.put(udp(server, endpoint(outbound, inA.Port()))), "drop_denied") // answers count, too
	g.mapped(udp(inB, server))
	for range 2 * most {
		g.mapped(tcp(inB, server, packets.SYN))
	}
	if n := g.seen(1); n != most+3 {
		t.Errorf("%d packets seen, want %d", n, most+3)
	}
	if n := g.seen(2); n != 1 {
		t.Errorf("the function of flows was asked %d times, want once", n)
	}
	g.chained(rules, deny(1), []nf.Step{limit(2)})
	g.mapped(udp(inA, server))
	for range most {
		g.mapped(tcp(inB, server, packets.SYN))
	}
	g.dropped(g.put(tcp(inB, server, packets.SYN)), "drop_denied")
}

// A connection on the tuple of one that is over is a new flow to its chain: what lets so
// many through counts it.
func TestConnectionOnAnOldTupleIsJudged(t *testing.T) {
	t.Parallel()
	const most = 2
	g := newGateway(t)
	g.chained([]nf.Rule{{Direction: model.Out}}, []nf.Step{{Number: 1, Function: ratelimit.RateLimit{Meter: meter.Meter{
		Per: meter.PerSource, Unit: meter.Sessions, Rate: 1.0 / 3600, Burst: most*time.Hour + 30*time.Minute, Entries: 1024,
	}}}})
	out := endpoint(outbound, inA.Port())
	for range most {
		g.leaves(g.put(tcp(inA, server, packets.SYN)), tcp(out, server, packets.SYN))
		g.leaves(g.put(tcp(inA, server, packets.SYN)), tcp(out, server, packets.SYN)) // once more
		g.leaves(g.put(tcp(server, out, synAck)), tcp(server, inA, synAck))
		g.leaves(g.put(tcp(inA, server, packets.ACK)), tcp(out, server, packets.ACK))
		g.forwarded(g.put(tcp(inA, server, packets.RST)))
	}
	g.denied(tcp(inA, server, packets.SYN))
	same(g, "state", g.state(), "rst")
	same(g, "packets that the function saw", g.seen(1), uint64(most+1))
	g.count(1)
}

// The same of a flow from the pool, in both directions, and of a first packet.
func TestEveryPacketOfAFlowFromOutside(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	client := endpoint(remote, 50000)
	g.chained([]nf.Rule{{Direction: model.In}}, []nf.Step{{Number: 1, Function: dosdenial.DoSDenial{Meter: meter.Meter{
		Per: meter.PerSource, Unit: meter.Packets, Rate: 1.0 / 3600, Burst: 2*time.Hour + 30*time.Minute, Entries: 1024,
	}}}})
	g.lend(pool1, 80, service, nil)
	g.established(client, lent, service)
	g.dropped(g.put(tcp(client, lent, packets.ACK)), "drop_denied")
	g.leaves(g.put(tcp(service, client, packets.ACK)), tcp(lent, client, packets.ACK))
	g.lend(pool1, 81, service, nil)
	g.dropped(g.put(tcp(endpoint(remote, 50001), endpoint(pool1, 81), packets.SYN)), "drop_denied")
}

// seen returns how often a function was asked.
// did returns what a function has done.
func (g *gateway) did(number uint32) datapath.Count {
	g.t.Helper()
	return must(g.data.Counts())(g.t)[number]
}

func (g *gateway) seen(number uint32) uint64 {
	g.t.Helper()
	return g.did(number).Seen
}
