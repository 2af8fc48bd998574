package datapath

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/firstbytes"
	"github.com/realmgate/realmgate/internal/nf/mirror"
)

// ofConnection are socket buffers of an established connection, as a virtual machine makes them.
func ofConnection(from, to netip.AddrPort, sequence, acknowledge uint32) map[string]buffer {
	data := func(octets int) packets.Packet {
		p := segment(from, to, packets.ACK, sequence, acknowledge)
		p.IPv4.DF, p.Payload = true, []byte(strings.Repeat("GET ", octets/4))
		return p
	}
	return map[string]buffer{
		"a segment with its sum left":        left(data(100)),
		"an aggregate":                       cut(data(6000), 1000),
		"an aggregate, headers in one piece": pieces(cut(data(30000), 1400), 54),
		"an aggregate, 14 octets in one":     pieces(cut(data(30000), 1400), 14),
	}
}

// both tries the buffers of both ends of a connection of client with to, which host gets.
func (g *gateway) both(client, to, host netip.AddrPort, links map[bool]*tap, try func(name string, public bool, s buffer, want packets.Packet)) {
	for name, s := range ofConnection(client, to, clientISN+1, hostISN+1) {
		want := s.packet.Clone()
		want.IPv4.Destination, want.TCP.Destination = host.Addr(), host.Port()
		try(name+", there", true, s, want)
	}
	for name, s := range ofConnection(host, client, hostISN+1, clientISN+1) {
		want := s.packet.Clone()
		want.IPv4.Source, want.TCP.Source = to.Addr(), to.Port()
		try(name+", back", false, s, want)
	}
}

// What comes by name, or is sent on, is translated as what goes out is.
func TestSocketBuffersFromOutside(t *testing.T) {
	t.Parallel()
	for name, to := range map[string]netip.AddrPort{"by name": lent, "dnat": shop} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, links := tapped(t, kinds{})
			host := service
			if to == lent {
				g.lend(pool1, 80, service, nil)
			} else {
				g.forwards([]forward{tcpTo(shop, shopIn)})
				host = shopIn
			}
			hello := segment(client, to, packets.SYN, clientISN, 0)
			g.through(links, true, left(hello), segment(client, host, packets.SYN, clientISN, 0))
			g.through(links, false, left(segment(host, client, synAck, hostISN, clientISN+1)), segment(to, client, synAck, hostISN, clientISN+1))
			g.through(links, true, left(proof(client, to)), proof(client, host))
			g.both(client, to, host, links, func(_ string, public bool, s buffer, want packets.Packet) { g.through(links, public, s, want) })
			g.sound()
		})
	}
}

// A host that reaches another by name sends and gets the same over one interface.
func TestSocketBuffersInsideToInside(t *testing.T) {
	t.Parallel()
	g, links := tapped(t, kinds{})
	to := endpoint(hostB, 8080)
	g.lend(pool1, 80, to, nil)
	a := endpoint(outbound, inA.Port())
	inside := links[false]
	g.carries(inside, inside, left(segment(inA, lent, packets.SYN, clientISN, 0)), segment(a, to, packets.SYN, clientISN, 0))
	g.carries(inside, inside, left(segment(to, a, synAck, hostISN, clientISN+1)), segment(lent, inA, synAck, hostISN, clientISN+1))
	g.carries(inside, inside, left(proof(inA, lent)), proof(a, to))
	for _, s := range ofConnection(inA, lent, clientISN+1, hostISN+1) {
		want := s.packet.Clone()
		want.IPv4.Source, want.IPv4.Destination, want.TCP.Source, want.TCP.Destination = a.Addr(), to.Addr(), a.Port(), to.Port()
		g.carries(inside, inside, s, want)
	}
	for _, s := range ofConnection(to, a, hostISN+1, clientISN+1) {
		want := s.packet.Clone()
		want.IPv4.Source, want.IPv4.Destination, want.TCP.Source, want.TCP.Destination = pool1, hostA, lent.Port(), inA.Port()
		g.carries(inside, inside, s, want)
	}
}

// Functions that see every packet see aggregates whole, and what they look for wherever it
// lies: a capture has its length and its first octets, and first-bytes finds what is denied.
func TestChainsOfSocketBuffers(t *testing.T) {
	t.Parallel()
	const snap = 300
	g, links := tapped(t, kinds{})
	g.chained([]nf.Rule{{}}, []nf.Step{{Number: 1, Function: mirror.Mirror{}}, {Number: 2, Function: firstbytes.FirstBytes{Deny: signatures("SSH-")}}})
	events := g.capture(map[uint32]uint32{1: snap})
	want := datapath.Capture{Function: 1, Direction: model.Out, Tuple: model.Tuple{Protocol: model.TCP, Source: inA, Destination: server}}
	for name, s := range ofConnection(inA, server, clientISN+1, hostISN+1) {
		out := g.mapped(segment(inA, server, packets.SYN, clientISN, 0))
		g.forwarded(g.put(segment(server, out, synAck, hostISN, clientISN+1)))
		g.forwarded(g.put(segment(inA, server, packets.ACK, clientISN+1, hostISN+1)))
		for range 3 {
			must(events.Next())(t)
		}
		bad := s
		bad.packet = s.packet.Clone()
		copy(bad.packet.Payload, "SSH-")
		before := g.counters()
		check(t, links[false].send(bad.linkHeader, addressed(bad.packet).Bytes()))
		if _, got := g.next(links[true]); got != nil || gained(before, g.counters())["drop_denied"] != 1 {
			t.Errorf("%s with what is denied: %v", name, gained(before, g.counters()))
		}
		g.captured(events, want, bad.packet, snap)
		good := s.packet.Clone()
		good.IPv4.Source, good.TCP.Source = out.Addr(), out.Port()
		g.through(links, false, s, good)
		g.captured(events, want, s.packet, snap)
		g.forwarded(g.put(segment(inA, server, packets.RST, clientISN+1, 0)))
		must(events.Next())(t)
	}
	for number := uint32(1); number <= 2; number++ {
		if n := g.did(number); n.Failed > 0 || n.Lost > 0 {
			t.Errorf("function %d: %+v", number, n)
		}
	}
}

// Bans hold for socket buffers of every kind, both ways.
func TestBansOfSocketBuffers(t *testing.T) {
	t.Parallel()
	g, links := tapped(t, kinds{})
	g.lend(pool1, 80, service, nil)
	g.established(client, lent, service)
	g.ban(datapath.Forever, netip.PrefixFrom(client.Addr(), 32))
	g.both(client, lent, service, links, func(name string, public bool, s buffer, _ packets.Packet) {
		before := g.counters()
		check(t, links[public].send(s.linkHeader, addressed(s.packet).Bytes()))
		if _, got := g.next(links[!public]); got != nil || gained(before, g.counters())["drop_banned"] != 1 {
			t.Errorf("%s: %v", name, gained(before, g.counters()))
		}
		if _, told := g.next(links[public]); public != (told == nil) {
			t.Errorf("%s: the sender was told %x", name, told)
		}
	})
	g.in(func() error { return g.data.DeleteBans([]netip.Prefix{netip.PrefixFrom(client.Addr(), 32)}) })
	g.both(client, lent, service, links, func(_ string, public bool, s buffer, want packets.Packet) { g.through(links, public, s, want) })
}

// The honeypot answers SYNs whose sum is left, with one that is left or right, and knows who answers.
func TestHoneypotOfSocketBuffers(t *testing.T) {
	t.Parallel()
	g, links := tapped(t, kinds{})
	g.protected(nf.Addresses{})
	from, to := endpoint(remote, 40000), netip.AddrPortFrom(pool1, telnet)
	check(t, links[true].send(left(knocking(from, to)).linkHeader, addressed(left(knocking(from, to)).packet).Bytes()))
	h, frame := g.next(links[true])
	if frame == nil {
		t.Fatal("nobody answers")
	}
	answer := must(packets.Parse(frame))(t)
	if sum := either(h.leftSum, packets.ChecksumPartial, packets.ChecksumValid); answer.TCP == nil || answer.TCP.Flags != synAck || answer.TCP.Checksum != sum {
		t.Fatalf("%+v: %s", h, answer)
	}
	for _, s := range []buffer{left(acknowledge(from, to, answer.TCP.Sequence+16)), left(acknowledge(from, to, answer.TCP.Sequence))} {
		g.hits()
		check(t, links[true].send(s.linkHeader, addressed(s.packet).Bytes()))
	}
	g.hits(datapath.HoneypotEvent{Source: remote, Port: telnet})
}
