package datapath

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

var datagrams = flag.Int("datagrams", 2_000, "of TestRFC4787_REQ14_AnyOrder for each form of the data plane")

// ends are both ends of a gateway's links, from which frames are sent.
type ends struct {
	*gateway
	inside, outside *netns.Frames
	macs            [2]packets.MAC // of the gateway's interfaces
}

func (g *gateway) ends() *ends {
	g.t.Helper()
	e := &ends{gateway: g, inside: must(g.inside.Frames("eth0"))(g.t), outside: must(g.outside.Frames("eth0"))(g.t)}
	for i, ifname := range []string{"eth0", "eth1"} {
		e.macs[i] = packets.MAC(must(g.namespace.MAC(ifname))(g.t))
	}
	g.t.Cleanup(func() { _, _ = e.inside.Close(), e.outside.Close() })
	return e
}

// live sends a packet on the wire.
func (e *ends) live(p packets.Packet) {
	e.t.Helper()
	p = addressed(p)
	from, mac := e.outside, e.macs[0]
	if realm.Contains(p.IPv4.Source) {
		from, mac = e.inside, e.macs[1]
	}
	check(e.t, from.Send(p.Between(p.Ethernet.Source, mac).Bytes()))
}

// held counts the slots that are taken.
func (g *gateway) held() (taken int) {
	g.t.Helper()
	var set uint32
	var words [8]uint64
	entries := g.table("fragment_holds").Iterate()
	for entries.Next(&set, &words) {
		for _, word := range words {
			if word&15 != 0 {
				taken++
			}
		}
	}
	check(g.t, entries.Err())
	return taken
}

// stream is a flow of datagrams, as it is sent and as it is to come out.
type stream struct {
	name       string
	sent, want packets.Packet
}

// streams opens the flows that fragments are tried on.
func (e *ends) streams() []stream {
	out := e.mapped(udp(inA, server))
	query := e.mapped(echo(hostA, remote, 7)).Port()
	there := e.mapped(udp(inB, server2))
	e.lend(pool1, 80, service, nil)
	e.established(client, lent, service)
	return []stream{
		{"out", udp(inA, server), udp(out, server)},
		{"in, through a mapping", udp(server, out), udp(server, inA)},
		{"in, from the pool", tcp(client, lent, packets.ACK), tcp(client, service, packets.ACK)},
		{"out, from the pool", tcp(service, client, packets.ACK), tcp(lent, client, packets.ACK)},
		{"hairpin", udp(inA, there), udp(out, inB)},
		{"echo", echo(hostA, remote, 7), echo(outbound, remote, query)},
		{"echo reply", echoReply(remote, outbound, query), echoReply(remote, hostA, 7)},
	}
}

// random is a datagram of 2 to most fragments, and what is to come of it; an echo has 8,000 octets.
func (s stream) random(r *rand.Rand, id uint16, most int) (pieces []packets.Packet, want packets.Packet) {
	count := 2 + r.IntN(most-1)
	size := 8 * (3 + r.IntN(180))
	octets := (count-1)*size + 1 + r.IntN(size) - 8
	if s.sent.TCP != nil {
		octets -= 12
	}
	if s.sent.ICMP != nil && most >= 6 {
		size, octets = 1480, 8000
	}
	payload := make([]byte, max(octets, 1))
	for i := range payload {
		payload[i] = byte(r.Uint32())
	}
	fill := func(p *packets.Packet) { p.Payload = payload }
	return divided(s.sent.Change(fill), id, size), s.want.Change(fill)
}

// whole joins what comes out, of one stream, until all that is wanted has come, with one hop
// less. It returns how many have not.
func (e *ends) whole(wanted []packets.Packet, deadline time.Time) int {
	e.t.Helper()
	from, like := e.outside, wanted[0].IPv4
	if realm.Contains(like.Destination) {
		from = e.inside
	}
	pieces := map[uint16][]packets.Packet{}
	for missing := len(wanted); ; {
		frame, err := from.Receive(deadline)
		if err != nil {
			return missing
		}
		got, err := packets.Parse(frame)
		if err != nil || got.IPv4 == nil || got.IPv4.Source != like.Source || got.IPv4.Destination != like.Destination || got.IPv4.TTL != like.TTL-1 {
			continue
		}
		id := got.IPv4.ID
		pieces[id] = append(pieces[id], got)
		for _, want := range wanted {
			if isWhole(e.t, pieces[id], want) {
				delete(pieces, id)
				if missing--; missing == 0 {
					return 0
				}
			}
		}
	}
}

// isWhole reports whether the pieces are all of the packet.
func isWhole(t testing.TB, pieces []packets.Packet, want packets.Packet) bool {
	t.Helper()
	wanted, octets, end := want.Network()[20:], 0, 0
	for _, p := range pieces {
		body := len(p.Network()) - 20
		octets += body
		if !p.IPv4.MF { // another packet may have as many octets in some of its fragments
			end = int(p.IPv4.FragmentOffset)*8 + body
		}
	}
	return end == len(wanted) && octets == end && bytes.Equal(joined(t, pieces).Network()[20:], wanted)
}

// anyOrder sends so many datagrams of the streams, in turns, each in 2 to 8 fragments and two at a time where there are
// slots for both, in any order, and wants all of them whole. each is called before each round.
func (e *ends) anyOrder(streams []stream, datagrams int, each func(round int)) {
	e.t.Helper()
	r := rand.New(rand.NewPCG(1, uint64(len(streams))))
	sent, lost, fragments := 0, 0, 0
	for round := 0; sent < datagrams; round++ {
		each(round)
		var pieces []packets.Packet
		s := streams[round%len(streams)]
		p, want := s.random(r, uint16(sent), 8)
		wanted := []packets.Packet{want}
		pieces = append(pieces, p...)
		if len(pieces) <= 6 {
			p, want := s.random(r, uint16(sent+1), 8-len(pieces))
			if len(pieces)+len(p) <= 8 {
				wanted, pieces = append(wanted, want), append(pieces, p...)
			}
		}
		r.Shuffle(len(pieces), func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })
		for _, p := range pieces {
			e.live(p)
		}
		if missing := e.whole(wanted, time.Now().Add(5*time.Second)); missing > 0 {
			counters, _ := e.data.Counters() // none without a daemon
			e.t.Errorf("%s: %d of %d datagrams, in %d fragments, did not come: %v; since the begin: %v", s.name, missing, len(wanted), len(pieces), order(pieces), counters)
			lost += missing
		}
		sent += len(wanted)
		fragments += len(pieces)
	}
	e.t.Logf("%d datagrams in %d fragments, %d lost", sent, fragments, lost)
}

// bothModes runs a test with the data plane at XDP, and at tcx.
func bothModes(t *testing.T, test func(t *testing.T, at option)) {
	t.Helper()
	for _, mode := range []datapath.Mode{datapath.XDP, datapath.TCX} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			test(t, attachedAt(mode))
		})
	}
}

// Every datagram arrives whole, in whatever order its fragments come, and whoever is there to see:
// for a third of them no daemon is.
func TestRFC4787_REQ14_AnyOrder(t *testing.T) {
	t.Parallel()
	bothModes(t, func(t *testing.T, at option) {
		g := newGateway(t, filtering(model.EndpointIndependent), at)
		e := g.ends()
		e.anyOrder(e.streams(), *datagrams, func(round int) {
			if round == *datagrams/12 {
				g.in(func() error { return g.data.Close(true) })
			}
		})
	})
}

// order says in which order fragments were sent.
func order(pieces []packets.Packet) (list []uint16) {
	for _, p := range pieces {
		list = append(list, p.IPv4.ID*1000+p.IPv4.FragmentOffset)
	}
	return list
}

// nobody is an address that has no session.
var nobody = netip.MustParseAddr("203.0.113.77")
