package datapath

import (
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// What an operator ends is over: its packets are judged like anybody's first.
func TestEndAll(t *testing.T) {
	t.Parallel()
	g := newGateway(t, filtering(model.EndpointIndependent))
	free := g.census().Free
	r := g.lend(pool1, 80, service, nil)
	g.established(client, lent, service)
	out := g.mapped(udp(inA, server))
	web := endpoint(remote, 80)
	outTCP := g.connected(inA, web)
	same(g, "sessions ended", must(g.data.EndAll())(t), 3)
	g.count(0)
	_, stand := g.data.BindingUse(r.Binding)
	same(g, "sessions of the binding", stand, 0)
	g.dropped(g.put(tcp(client, lent, packets.ACK)), "drop_not_syn")
	g.dropped(g.put(tcp(web, outTCP, packets.ACK)), "drop_no_mapping")
	g.dropped(g.put(tcp(inA, web, packets.ACK)), "drop_not_syn")
	g.dropped(g.put(udp(server, out)), "drop_no_mapping")
	census := g.census()
	same(g, "records at rest", census.Resting, 0)
	same(g, "records free", census.Free, free)
	// The port of TCP is free; that of UDP waits, and is kept for its host.
	same(g, "mappings", census.Mappings, 1)
	same(g, "another host's endpoint", g.mapped(tcp(endpoint(hostB, inA.Port()), web, packets.SYN)), outTCP)
	same(g, "the host's endpoint", g.mapped(udp(inA, server)), out)
	g.idle(301 * time.Second)
	g.idle(121 * time.Second)
	same(g, "mappings left", g.census().Mappings, 0)
	same(g, "ended where none is", must(g.data.EndAll())(t), 0)
}

// Only what is wanted ends, also of sessions that refer to each other's filter
// entry.
func TestEndSessions(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	first, second, third := udp(inA, server), udp(inA, endpoint(remote, 54)), udp(inA, server2)
	out := g.mapped(first)
	g.mapped(second)
	g.mapped(third)
	to := func(wanted ...netip.AddrPort) func(datapath.Session) bool {
		return func(s datapath.Session) bool {
			for _, remote := range wanted {
				if s.Remote == remote {
					return true
				}
			}
			return false
		}
	}
	same(g, "ended", must(g.data.EndSessions(to(server)))(t), 1)
	g.count(2)
	same(g, "held for the filter", g.census().Referenced, 1)
	g.forwarded(g.put(udp(endpoint(remote, 55), out))) // another session lets the address in
	same(g, "ended", must(g.data.EndSessions(to(endpoint(remote, 54), endpoint(remote, 55))))(t), 2)
	g.dropped(g.put(udp(server, out)), "drop_filtered")
	g.leaves(g.put(udp(server2, out)), udp(server2, inA))
	census := g.census()
	same(g, "records", [3]int{census.Sessions, census.Referenced, census.Resting}, [3]int{1, 0, 0})
	same(g, "ended", must(g.data.EndSessions(func(datapath.Session) bool { return false }))(t), 0)
}

// The room of what was ended is there at once.
func TestEndAllMakesRoom(t *testing.T) {
	t.Parallel()
	g := newGateway(t, capacity(model.MinCapacity), timeouts(func(s *datapath.Settings) { s.PortQuarantine = 0 }))
	for n := range 3 {
		if n > 0 {
			same(g, "ended", must(g.data.EndAll())(t), model.MinCapacity)
		}
		for n := range uint16(model.MinCapacity) {
			g.mapped(udp(endpoint(hostA, 2048+n/2), endpoint(remote, 53+n%2))) // in pairs, on one filter entry
		}
		same(g, "reason", g.put(udp(inB, server)).reason, "drop_session_table_full")
	}
	g.census()
}

// Beside packets that open and use sessions, and a sweep that ages them, ending
// leaves tables that agree with each other.
func TestEndBesideTraffic(t *testing.T) {
	t.Parallel()
	const rounds = 200
	g := newGateway(t, filtering(model.AddressDependent), timeouts(func(s *datapath.Settings) { s.PortQuarantine = 0 }))
	ended := 0
	g.atOnce(4, func(thread int) error {
		for n := range rounds {
			switch thread {
			case 0:
				end, err := g.data.EndAll, error(nil)
				if n%2 == 0 {
					end = func() (int, error) {
						return g.data.EndSessions(func(s datapath.Session) bool { return s.Remote.Port()%2 == 0 })
					}
				}
				count, err := end()
				if err != nil {
					return err
				}
				ended += count
			case 1:
				if _, err := g.data.Sweep(nil); err != nil {
					return err
				}
			default:
				for m := range 20 {
					frame := inside(udp(endpoint(host(m), 40000), endpoint(remote, uint16(1+(n+m)%7)))).Bytes()
					if _, _, err := g.inject(false, g.private, frame); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
	if ended == 0 {
		t.Error("nothing was ended")
	}
	g.census()
	must(g.data.EndAll())(t)
	usage, census := must(g.data.Usage())(t), g.census()
	same(g, "what is left", [4]int{int(usage.Sessions), int(usage.Mappings), census.SessionIndex, census.MappingIndex}, [4]int{})
	g.idle(2 * time.Second)
	g.idle(2 * time.Second)
	census = g.census()
	same(g, "records not free", [2]int{census.Resting, census.Referenced}, [2]int{})
}
