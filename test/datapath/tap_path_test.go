package datapath

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/test/frames"
)

const sumOfTCP, sumOfUDP = 16, 6 // offsets of the fields

// buffer is a packet with what stands beside it on the way through a tap.
type buffer struct {
	linkHeader
	packet packets.Packet
}

// left has the packet's sum left to an interface.
func left(p packets.Packet) buffer {
	s := buffer{packet: p.Clone()}
	s.leftSum, s.sumStart = true, uint16(14+20+(len(p.IPv4.Options)+3)/4*4)
	if p.UDP != nil {
		s.sumOffset, s.packet.UDP.Checksum = sumOfUDP, packets.ChecksumPartial
	} else {
		s.sumOffset, s.packet.TCP.Checksum = sumOfTCP, packets.ChecksumPartial
	}
	return s
}

// cut has it as an aggregate, of segments of so many octets.
func cut(p packets.Packet, size int) buffer {
	s := left(p)
	s.segmentSize, s.aggregate = uint16(size), aggregateOfTCP
	if p.UDP != nil {
		s.aggregate = aggregateOfUDP
	}
	return s
}

// pieces has only its first octets in one piece; the kernel does so with frames above 4 KiB.
func pieces(s buffer, linear uint16) buffer {
	s.linear = linear
	return s
}

// Socket buffers of every kind come through a gateway whose links are taps: with sums left to
// an interface, aggregates, and such as lie in pieces, down to 14 octets in the first.
func TestSocketBuffersOfEveryKind(t *testing.T) {
	t.Parallel()
	for name, bare := range allKinds {
		t.Run(name, func(t *testing.T) { t.Parallel(); socketBuffersOfEveryKind(t, bare) })
	}
}

func socketBuffersOfEveryKind(t *testing.T, bare kinds, more ...option) {
	g, links := tapped(t, bare, more...)
	long := strings.Repeat("long ", 1300) // more than a page
	segment := func(data string, f packets.Flags) packets.Packet {
		p := packets.NewTCP(inA, web, f, data)
		p.IPv4.DF = true
		return p
	}
	g.bothWays(links, buffer{packet: segment("", packets.SYN)})
	options := func(p packets.Packet) packets.Packet {
		return p.Change(withOptions(otherOptions["timestamp that holds such octets"]))
	}
	for name, s := range map[string]buffer{
		"a datagram":                          {packet: udp(inA, server)},
		"with its sum left":                   left(udp(inA, server)),
		"of odd length":                       left(packets.NewUDP(inA, server, "odd")),
		"a segment with its sum left":         left(segment("data", packets.ACK)),
		"behind options":                      left(options(segment("data", packets.ACK))),
		"an aggregate":                        cut(segment(long, packets.ACK), 1000),
		"an aggregate of datagrams":           cut(packets.NewUDP(inA, server, long), 1000),
		"an aggregate behind options":         cut(options(segment(long, packets.ACK)), 1000),
		"14 octets in one piece":              pieces(buffer{packet: segment(long, packets.ACK)}, 14),
		"a header cut in two":                 pieces(buffer{packet: segment(long, packets.ACK)}, 30),
		"headers in one piece":                pieces(buffer{packet: segment(long, packets.ACK)}, 54),
		"a datagram in pieces":                pieces(buffer{packet: packets.NewUDP(inA, server, long)}, 14),
		"options cut in two":                  pieces(buffer{packet: options(segment(long, packets.ACK))}, 37),
		"an echo in pieces":                   pieces(buffer{packet: packets.NewICMP(hostA, remote, packets.EchoRequest, 0, 7<<16, []byte(long))}, 14),
		"an aggregate in pieces":              pieces(cut(segment(strings.Repeat(long, 6), packets.ACK), 1400), 54),
		"an aggregate of datagrams in pieces": pieces(cut(packets.NewUDP(inA, server, strings.Repeat(long, 6)), 1400), 42),
	} {
		t.Run(name, func(t *testing.T) {
			g := *g
			g.t = t
			g.bothWays(links, s)
		})
	}
}

// What a virtual machine says about its sums decides where an interface writes, after the
// packet is translated. It is taken only at the packet's own sum, or behind its header.
func TestSumsThatAreNotThePackets(t *testing.T) {
	t.Parallel()
	for name, bare := range allKinds {
		t.Run(name, func(t *testing.T) { t.Parallel(); sumsThatAreNotThePackets(t, bare) })
	}
}

func sumsThatAreNotThePackets(t *testing.T, bare kinds) {
	const l4 = header + 20
	g, links := tapped(t, bare)
	g.bothWays(links, buffer{packet: tcp(inA, web, packets.SYN)})
	for name, c := range map[string]struct {
		packet        packets.Packet
		start, offset uint16
		passes        bool
	}{
		"the source":                     {packets.NewUDP(inA, server, "some data"), 22, 6, false},
		"the destination":                {tcp(inA, web, packets.ACK), 20, 10, false},
		"a port":                         {packets.NewUDP(inA, server, "some data"), l4, 0, false},
		"the length":                     {packets.NewUDP(inA, server, "some data"), l4, 4, false},
		"the other protocol's":           {tcp(inA, web, packets.ACK), l4, sumOfUDP, false},
		"of a header that has not ended": {packets.NewUDP(inA, server, "some data"), l4 + 2, 4, false},
		"an identifier":                  {echo(hostA, remote, 7), l4, 4, false},
		"of a packet within the packet":  {packets.NewUDP(inA, server, "a packet within the packet"), l4 + 8, 6, true},
		"the packet's":                   {left(packets.NewUDP(inA, server, "some data")).packet, l4, sumOfUDP, true},
		"the packet's, of TCP":           {left(tcp(inA, web, packets.ACK)).packet, l4, sumOfTCP, true},
		"the source, of one in pieces":   {packets.NewUDP(inA, server, strings.Repeat("long ", 1300)), 22, 6, false},
	} {
		before := g.counters()
		err := links[false].send(linkHeader{leftSum: true, sumStart: c.start, sumOffset: c.offset}, addressed(c.packet).Bytes())
		if bare[false] && c.start < l4 && errors.Is(err, unix.EINVAL) {
			continue // by a tun the kernel takes none before the header's end
		}
		check(t, err)
		_, got := g.next(links[true])
		switch counted := gained(before, g.counters()); {
		case c.passes && (got == nil || counted["forwarded"] == 0):
			t.Errorf("%s: %v", name, counted)
		case !c.passes && (got != nil || counted["drop_malformed"] == 0):
			t.Errorf("%s: %x, %v", name, got, counted)
		}
	}
}

// bothWays sends a packet of hostA, and what would answer it.
func (g *gateway) bothWays(links taps, s buffer) {
	g.t.Helper()
	out := s.packet.Clone()
	out.IPv4.Source = outbound
	g.through(links, false, s, out)
	back := s
	back.packet = s.packet.Clone()
	turn(&back.packet)
	in := back.packet.Clone()
	back.packet.IPv4.Destination = outbound
	if s.packet.TCP != nil && s.packet.TCP.Flags == packets.SYN {
		back.packet.TCP.Flags |= packets.ACK
		in.TCP.Flags |= packets.ACK
	}
	g.through(links, true, back, in)
}

// turn makes a packet its own answer.
func turn(p *packets.Packet) {
	p.IPv4.Source, p.IPv4.Destination = p.IPv4.Destination, p.IPv4.Source
	switch {
	case p.UDP != nil:
		p.UDP.Source, p.UDP.Destination = p.UDP.Destination, p.UDP.Source
	case p.TCP != nil:
		p.TCP.Source, p.TCP.Destination = p.TCP.Destination, p.TCP.Source
	case p.ICMP != nil:
		p.ICMP.Type = packets.EchoReply
	}
}

// through sends a packet by one link and wants it from the other, with the same beside it.
func (g *gateway) through(links taps, public bool, s buffer, want packets.Packet) {
	g.t.Helper()
	g.carries(links[public], links[!public], s, want)
}

// carries sends a packet by from and wants it at to, with the same beside it.
func (g *gateway) carries(from, to *tap, s buffer, want packets.Packet) {
	g.t.Helper()
	before := g.counters()
	check(g.t, from.send(s.linkHeader, addressed(s.packet).Bytes()))
	h, got := g.next(to)
	if got == nil {
		g.t.Fatalf("%s did not come: %v", s.packet, gained(before, g.counters()))
	}
	p, err := packets.Parse(got)
	check(g.t, err)
	want.IPv4.TTL--
	if want.TCP != nil {
		want.TCP.Checksum = s.packet.TCP.Checksum
	}
	want.Ethernet, p.Ethernet = packets.Ethernet{}, packets.Ethernet{}
	if diff := frames.Diff(want.Bytes(), p.Bytes()); diff != "" {
		g.t.Errorf("%s: %s", s.packet, diff)
	}
	if h.leftSum != s.leftSum || h.aggregate != s.aggregate || h.segmentSize != s.segmentSize || s.leftSum && h.sumStart != s.sumStart {
		g.t.Errorf("%s: beside it is %+v, want %+v", s.packet, h, s.linkHeader)
	}
}

// next is the next packet that is one of IPv4.
func (g *gateway) next(link *tap) (linkHeader, []byte) {
	g.t.Helper()
	for {
		h, frame, err := link.receive()
		check(g.t, err)
		if frame == nil || len(frame) > 34 && frame[12] == 8 && frame[13] == 0 {
			return h, frame
		}
	}
}
