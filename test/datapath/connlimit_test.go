package datapath

import (
	"errors"
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/connlimit"
)

// A source opens as many connections as it may, from inside and from outside. Its own FIN makes no room at once, nor does an
// RST that proves nothing; a FIN or an RST of the other end does that proves, and open connections go on.
func TestConnLimit(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	limit := func(number uint32) []nf.Step {
		return []nf.Step{{Number: number, Function: connlimit.ConnLimit{Connections: 2, Idle: time.Hour, Entries: 1024}}}
	}
	g.chained([]nf.Rule{{Direction: model.Out, Value: 0}, {Direction: model.In, Value: 1}}, limit(1), limit(2))
	const finAck = packets.FIN | packets.ACK
	own := endpoint(inA.Addr(), 1001)
	from := func(port uint16) packets.Packet { return tcp(endpoint(inA.Addr(), port), server, packets.SYN) }
	out := g.mapped(from(1001))
	g.mapped(from(1002))
	g.denied(from(1003))
	g.mapped(from(1001)) // once more
	g.leaves(g.put(tcp(server, out, synAck)), tcp(server, own, synAck))
	g.leaves(g.put(tcp(own, server, packets.ACK)), tcp(out, server, packets.ACK))
	g.leaves(g.put(tcp(own, server, finAck)), tcp(out, server, finAck))
	g.denied(from(1003))
	g.leaves(g.put(tcp(server, out, finAck)), tcp(server, own, finAck))
	g.mapped(from(1003))
	g.denied(from(1004))
	g.mapped(udp(inB, server)) // another source

	g.lend(pool1, 80, service, nil)
	client := func(port uint16) packets.Packet { return tcp(endpoint(remote, port), lent, packets.SYN) }
	g.established(endpoint(remote, 50001), lent, service)
	g.forwarded(g.put(client(50002)))
	for _, flags := range []packets.Flags{packets.RST, packets.RST | packets.ACK} {
		g.dropped(g.put(client(50003)), "drop_denied")
		g.leaves(g.put(tcp(service, endpoint(remote, 50001), flags)), tcp(lent, endpoint(remote, 50001), flags))
	}
	g.forwarded(g.put(client(50003)))
}

// What was open before counts from its next packet on, though the first that comes of it is an ICMP error, which is none.
func TestConnLimitTakesUp(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	limit := func(number uint32) []nf.Step {
		return []nf.Step{{Number: number, Function: connlimit.ConnLimit{Connections: 2, Idle: time.Hour, Entries: 1024}}}
	}
	g.chained([]nf.Rule{{Direction: model.Out}}, limit(1))
	from := func(port uint16) packets.Packet { return udp(endpoint(inA.Addr(), port), server) }
	out := g.mapped(from(1001))
	g.mapped(from(1002))
	g.denied(from(1003))
	g.chained([]nf.Rule{{Direction: model.Out}}, limit(2)) // its table is another
	g.forwarded(g.put(unreachable(hop, 1, 0, udp(out, server), 8)))
	g.mapped(from(1001))
	g.mapped(from(1003))
	g.denied(from(1004))
	g.mapped(from(1002)) // there is no room for it, and it goes on
}

// Functions hear whether the sender of a segment has seen what the other end sent, and what is an error about a flow.
func TestConnLimitHearsWhatProves(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	limit := connlimit.ConnLimit{Connections: 9, Idle: time.Hour, Entries: 1024}
	g.chained([]nf.Rule{{}}, []nf.Step{{Number: 1, Function: limit}})
	hears := g.hears()
	g.lend(pool1, 80, service, nil)
	client, own := endpoint(remote, 50001), endpoint(inA.Addr(), 1001)
	out := g.mapped(segment(own, server, packets.SYN, clientISN, 0))
	const wrong = hostISN - 100<<20
	for _, s := range []struct {
		what                   string
		packet                 packets.Packet
		answers, error, proves uint8
	}{
		{"a guess at the first SYN", segment(own, server, packets.ACK, clientISN+1, 0), 0, 0, 0},
		{"an answer", segment(server, out, synAck, hostISN, clientISN+1), 1, 0, 0},
		{"the SYN again", segment(own, server, packets.SYN, clientISN, 0), 0, 0, 0},
		{"a guess", segment(own, server, packets.ACK, clientISN+1, wrong), 0, 0, 0},
		{"another", segment(own, server, packets.ACK, clientISN+1, wrong), 0, 0, 0},
		{"a proof", proof(own, server), 0, 0, 1},
		{"an error", unreachable(hop, 1, 0, segment(out, server, packets.ACK, clientISN+1, wrong), 8), 1, 1, 0},
		{"a claimant's guess", segment(client, lent, packets.ACK, clientISN+1, wrong), 0, 0, 0},
		{"its proof", proof(client, lent), 0, 0, 1},
		{"its host's packet", segment(service, client, packets.ACK, hostISN+1, clientISN+1), 1, 0, 1},
		{"a guess at what is open", segment(client, lent, packets.ACK, clientISN+1, wrong), 0, 0, 0},
	} {
		if s.what == "a claimant's guess" {
			g.leaves(g.put(segment(client, lent, packets.SYN, clientISN, 0)), segment(client, service, packets.SYN, clientISN, 0))
			g.answers(client, lent, service)
		}
		p := hears(s.packet)
		if got := [...]uint8{p.Answers, p.Error, p.Proves}; got != [...]uint8{s.answers, s.error, s.proves} {
			t.Errorf("%s: answers, error, proves %v, want %v", s.what, got, [...]uint8{s.answers, s.error, s.proves})
		}
	}
}

// hears puts a packet in, and says what functions hear of it.
func (g *gateway) hears() func(packets.Packet) nf.Packet {
	g.t.Helper()
	var table *ebpf.Map
	none := errors.New("no chains")
	g.in(func() error {
		_, err := g.data.MakeChains(func(tables datapath.ChainTables, _ uint32) (datapath.Chains, error) {
			table = tables.Packets
			return datapath.Chains{}, none
		})
		if !errors.Is(err, none) {
			return err
		}
		return nil
	})
	return func(p packets.Packet) nf.Packet {
		g.t.Helper()
		if err := table.Put(uint32(0), make([]nf.Packet, ebpf.MustPossibleCPU())); err != nil {
			g.t.Fatal(err)
		}
		g.put(p)
		var each []nf.Packet
		if err := table.Lookup(uint32(0), &each); err != nil {
			g.t.Fatal(err)
		}
		for _, one := range each {
			if one.Source != 0 {
				return one
			}
		}
		g.t.Fatalf("no function hears of %v", p)
		return nf.Packet{}
	}
}
