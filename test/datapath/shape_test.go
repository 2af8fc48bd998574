package datapath

import (
	"math/rand/v2"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/test/dataplane"
)

// shaped is a frame as a link may hand it over, for the form of the data plane that it is for.
type shaped struct {
	dataplane.Injected
	kind string
	// sound says that the packet's own sum is right, or left to an interface.
	sound bool
}

// shapes makes frames of packets: whole, cut into fragments, aggregates, with sums left to an
// interface or made by one.
type shapes struct{ *rand.Rand }

// longest is what the kernel lets a test run take.
const longest = 3000

// of returns the frames that a packet comes in.
func (r shapes) of(p packets.Packet) []shaped {
	p = p.Clone()
	r.fill(&p, r.IntN(64))
	switch r.IntN(8) {
	case 0:
		return r.fragments(p)
	case 1:
		return []shaped{r.aggregate(p)}
	case 2, 3:
		return []shaped{r.partial(p)}
	case 4, 5:
		s := r.whole(p, datapath.TCX)
		s.Complete, s.kind = true, "complete"
		return []shaped{s}
	case 6:
		return []shaped{r.whole(p, datapath.TCX)}
	}
	return []shaped{r.whole(p, datapath.XDP)}
}

// fill gives the packet so many octets of payload, if nothing else is in it.
func (r shapes) fill(p *packets.Packet, octets int) {
	if p.ICMP != nil && p.ICMP.Type != packets.EchoRequest && p.ICMP.Type != packets.EchoReply || p.IPv4 == nil {
		return
	}
	p.Payload = make([]byte, octets)
	for i := range p.Payload {
		p.Payload[i] = byte(r.Uint32())
	}
}

func (r shapes) whole(p packets.Packet, mode datapath.Mode) shaped {
	sum, has := sumOf(p)
	return shaped{
		Injected: dataplane.Injected{Frame: datapath.Frame{Octets: p.Bytes()}, Mode: mode}, kind: "whole at " + string(mode),
		sound: has && (sum == packets.ChecksumValid || sum == packets.ChecksumPartial && mode == datapath.XDP),
	}
}

// sumOf says what the packet's own sum is, if it has one.
func sumOf(p packets.Packet) (sum packets.Checksum, has bool) {
	switch {
	case p.UDP != nil:
		return p.UDP.Checksum, p.UDP.Checksum != packets.ChecksumZero
	case p.TCP != nil:
		return p.TCP.Checksum, true
	case p.ICMP != nil:
		return p.ICMP.Checksum, p.ICMP.Checksum == packets.ChecksumValid
	}
	return 0, false
}

// partial leaves the sum to an interface. A socket buffer would say so beside the frame, which
// only a real one can: test/datapath/tap_test.go.
func (r shapes) partial(p packets.Packet) shaped {
	s := r.whole(withSumLeft(p), datapath.XDP)
	s.kind = "partial sum"
	return s
}

// withSumLeft is the packet with its sum left to an interface.
func withSumLeft(p packets.Packet) packets.Packet {
	return p.Change(func(p *packets.Packet) {
		switch {
		case p.UDP != nil:
			p.UDP.Checksum = packets.ChecksumPartial
		case p.TCP != nil:
			p.TCP.Checksum = packets.ChecksumPartial
		}
	})
}

// aggregate is what many packets of a flow were put together to.
func (r shapes) aggregate(p packets.Packet) shaped {
	size := 1 + r.IntN(1600)
	segments := 1 + r.IntN(longest/size)
	r.fill(&p, size*segments-r.IntN(size))
	s := r.whole(p, datapath.TCX)
	s.kind, s.Segments, s.SegmentSize = "aggregate", uint32(segments), uint32(size)
	if r.IntN(20) == 0 { // which says something else than it is
		s.Segments, s.SegmentSize = r.Uint32N(1<<16), r.Uint32N(1<<16)
	}
	s.Complete = r.IntN(4) == 0
	return s
}

// fragments are pieces of the packet in any order; some are lost, come twice, overlap or say
// that there are more where there are none.
func (r shapes) fragments(p packets.Packet) []shaped {
	r.fill(&p, 64+r.IntN(longest/2))
	p.IPv4.DF = r.IntN(8) == 0
	pieces := p.Fragments(8 * (1 + r.IntN(64)))
	r.Shuffle(len(pieces), func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })
	var list []shaped
	for _, piece := range pieces[:min(len(pieces), 12)] {
		switch r.IntN(16) {
		case 0:
			continue
		case 1:
			list = append(list, r.piece(piece))
		case 2:
			piece.IPv4.FragmentOffset = uint16(r.IntN(8192))
		case 3:
			piece.IPv4.MF = !piece.IPv4.MF
		case 4:
			piece.Payload = piece.Payload[:r.IntN(len(piece.Payload)+1)]
		}
		list = append(list, r.piece(piece))
	}
	return list
}

func (r shapes) piece(p packets.Packet) shaped {
	mode := choose(r.Rand, datapath.XDP, datapath.TCX)
	return shaped{Injected: dataplane.Injected{Frame: datapath.Frame{Octets: p.Bytes()}, Mode: mode, Complete: mode == datapath.TCX && r.IntN(2) == 0}, kind: "fragment"}
}
