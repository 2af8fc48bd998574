package datapath

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/test/dataplane"
	"github.com/realmgate/realmgate/test/frames"
)

// tapSurge is a storm of real socket buffers: what TestPathFuzz cannot make by test runs.
type tapSurge struct {
	*storm
	shapes
	links               taps
	macs                map[bool]packets.MAC
	refused, came, sums int // frames that the kernel did not take, that came out, and whose sums were looked at
}

// TestTapFuzz sends sums left to an interface, aggregates of up to 60 KB and frames that lie in
// pieces through a gateway between two taps, whole and damaged, and reads all that it sends.
func TestTapFuzz(t *testing.T) {
	t.Parallel()
	for name, bare := range allKinds {
		t.Run(name, func(t *testing.T) { t.Parallel(); tapFuzz(t, bare) })
	}
}

func tapFuzz(t *testing.T, bare kinds) {
	g, links := tapped(t, bare, capacity(1<<15), outboundAddresses(outbound))
	storm := newStorm(g, []netip.Addr{publicAddress, privateAddress})
	s := &tapSurge{storm: storm, shapes: shapes{storm.r}, links: links, macs: g.interfaceMACs()}
	before := must(dataplane.Audit(g.data))(t)
	began, frames := time.Now(), *pathFrames/8
	g.in(func() error {
		for s.step = range frames {
			if s.step%500 == 0 {
				s.lend()
			}
			if s.step%audited == audited-1 {
				s.pass()
			}
			if err := s.once(s.r.IntN(2) == 0); err != nil {
				return fmt.Errorf("frame %d: %w", s.step, err)
			}
		}
		return nil
	})
	t.Logf("%d frames in %s, %d refused by the kernel, %d came out, sums of %d looked at", frames, time.Since(began).Round(time.Second), s.refused, s.came, s.sums)
	s.wantReached("forwarded", "drop_malformed", "drop_fragment", "drop_not_syn")
	if s.sums < frames/20 {
		t.Errorf("only %d sums were looked at", s.sums)
	}
	s.leavesNothing(before)
}

// buffer makes a packet one of a socket buffer; sound says that its sum is right, or left.
func (s *tapSurge) buffer(p packets.Packet) (b buffer, sound bool) {
	s.fill(&p, s.r.IntN(64))
	whole := p.IPv4 != nil && (p.UDP != nil || p.TCP != nil)
	kind := s.r.IntN(8)
	switch {
	case whole && kind < 2:
		return left(p), true
	case whole && kind < 4:
		size := 1 + s.r.IntN(1600)
		s.fill(&p, min(60_000, size*(1+s.r.IntN(40))))
		b, sound = cut(p, size), true
	case kind < 6:
		s.fill(&p, 4100+s.r.IntN(4000))
		sum, has := sumOf(p)
		b, sound = buffer{packet: p}, has && sum == packets.ChecksumValid
	case kind == 6 && p.IPv4 != nil:
		s.fill(&p, 64+s.r.IntN(5000))
		p.IPv4.DF = false
		return buffer{packet: choose(s.r, p.Fragments(8*(1+s.r.IntN(600)))...)}, false
	default:
		return buffer{packet: p}, false
	}
	b.linear = uint16(14 + s.r.IntN(100))
	return b, sound
}

// once sends one packet, and looks at all that comes of it.
func (s *tapSurge) once(public bool) error {
	p := s.odd(s.flow(public))
	if s.r.IntN(8) == 0 {
		p = frames.Random(s.r, s.everyone)
	}
	p = p.Between(either(public, packets.RouterMAC, packets.HostMAC), s.macs[public])
	b, sound := s.buffer(p.Clone())
	frame := b.packet.Bytes()
	if s.r.IntN(6) == 0 {
		frame, sound = frames.Mutate(s.r, frame), false
	}
	if s.r.IntN(60) == 0 { // and says something else than it is
		b.sumStart, b.segmentSize, sound = uint16(s.r.IntN(100)), uint16(s.r.Uint32()), false
	}
	if s.links[public].bare && len(frame) > header && frame[header]>>4 == 4 {
		frame[12], frame[13] = 8, 0 // it has no link header, whatever became of that
	}
	in, _ := packets.Parse(frame)
	switch err := s.links[public].send(b.linkHeader, frame); {
	case errors.Is(err, unix.EINVAL):
		s.refused++
		return nil
	case err != nil:
		return err
	}
	for toPublic, link := range s.links {
		for {
			h, got, err := link.receive()
			if err != nil {
				return err
			}
			if got == nil {
				break
			}
			s.came++
			if problem := s.look(public, toPublic, sound, in, h, got); problem != "" {
				return fmt.Errorf("%s:\nin  (public side %v, %+v) % x\nout (public side %v, %+v) % x", problem, public, b.linkHeader, head(frame), toPublic, h, head(got))
			}
		}
	}
	return nil
}

func head(frame []byte) []byte { return frame[:min(len(frame), 200)] }

// look says what is wrong with a frame that came out; "" when nothing is.
func (s *tapSurge) look(public, toPublic, sound bool, in packets.Packet, h linkHeader, frame []byte) string {
	p, err := packets.Parse(frame)
	switch {
	case p.Ethernet.Type == packets.TypeARP:
		return ""
	case p.IPv4 == nil:
		return "no packet of IPv4"
	case slices.Contains(s.local, p.IPv4.Source): // the gateway itself, and its kernel
		if toPublic == isInside(p.IPv4.Destination) {
			return "the gateway speaks to the wrong side"
		}
		return ""
	case !toPublic && !public && isInside(p.IPv4.Source) && isInside(p.IPv4.Destination):
		return "" // between hosts inside
	case err != nil:
		return err.Error()
	case isResetOf(p, in), isCookieOf(p, in):
		return ""
	}
	if problem := s.translated(public, toPublic, p); problem != "" {
		return problem
	}
	if sum, has := sumOf(p); sound && has && bytes.Equal(p.Payload, in.Payload) {
		s.sums++
		// One sum in 65,536 is both.
		if left := bytes.Equal(withSumLeft(p).Bytes(), frame); sum != packets.ChecksumValid && !h.leftSum || !left && h.leftSum {
			return fmt.Sprintf("a sum that is %s", sum)
		}
	}
	return ""
}
