package web

import (
	"encoding/binary"
	"errors"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/ipv4"
	"github.com/realmgate/realmgate/internal/web/hello"
)

// segment is a frame with a TCP segment, and what it says.
type segment struct {
	ipv4.Packet
	acknowledges uint32
	end          uint32 // behind its data and its FIN
	stamped      bool
	value, echo  uint32 // its timestamps
}

var (
	errSegment  = errors.New("the frame holds no TCP segment")
	errChecksum = errors.New("the checksum is wrong")
)

// parseSegments reads a frame, which it completes. It may be an aggregate, of segments of each octets.
func parseSegments(octets []byte, each int) (list []segment, _ error) {
	whole, err := ipv4.Parse(octets)
	switch {
	case err != nil:
		return nil, err
	case whole.Protocol() != ipv4.TCP:
		return nil, errSegment
	case !whole.Complete():
		return nil, errChecksum
	}
	for _, p := range whole.Divide(each) {
		list = append(list, newSegment(p))
	}
	return list, nil
}

func newSegment(p ipv4.Packet) segment {
	tcp := p.Transport()
	s := segment{Packet: p, acknowledges: binary.BigEndian.Uint32(tcp[8:]), end: p.Sequence + uint32(len(p.Payload))}
	if p.Has(ipv4.FIN) {
		s.end++
	}
	s.readTimestamps(tcp[ipv4.TCPHeader : len(tcp)-len(p.Payload)])
	return s
}

// readTimestamps finds them among the options (RFC 7323 section 3.2).
func (s *segment) readTimestamps(options []byte) {
	for len(options) > 1 && options[0] != 0 {
		if options[0] == 1 {
			options = options[1:]
			continue
		}
		length := int(options[1])
		if length < 2 || length > len(options) {
			return
		}
		if options[0] == 8 && length == 10 {
			s.stamped = true
			s.value, s.echo = binary.BigEndian.Uint32(options[2:]), binary.BigEndian.Uint32(options[6:])
		}
		options = options[length:]
	}
}

// window is what is promised behind the handshake, and so many octets later, by the scale that the cookie has which the segment
// acknowledges (HANDSHAKE_WINDOW and _SCALE, bpf/handshake/syn_cookie.h).
func (s *segment) window(later uint32) uint16 {
	window := uint16(hello.MaxBytes - min(later, hello.MaxBytes)) //nolint:gosec // at most MaxBytes
	if (s.acknowledges-1)>>25&15 == datapath.WebNoScale {
		return window
	}
	return (window + 1<<datapath.WebScale - 1) >> datapath.WebScale // a window does not shrink (RFC 9293 section 3.8.6)
}

// acknowledge acknowledges so many octets of its client's first data.
func (s *segment) acknowledge(octets uint32) []byte {
	return s.write(nil, ipv4.ACK, s.window(octets), s.acknowledges, s.Sequence+octets)
}

// answer is a segment to who sent s.
func (s *segment) answer(flags byte, sequence, acknowledges uint32, data []byte) []byte {
	return s.write(data, flags, 0, sequence, acknowledges)
}

// write makes a segment with the link and IP addresses and ports of s the other way round, and timestamps as it has them.
func (s *segment) write(data []byte, flags byte, window uint16, sequence, acknowledges uint32) []byte {
	var options []byte
	if s.stamped {
		options = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte{1, 1, 8, 10}, s.echo), s.value)
	}
	out := make([]byte, ipv4.LinkHeader+ipv4.IPHeader+ipv4.TCPHeader+len(options)+len(data))
	copy(out, s.Frame[6:12])
	copy(out[6:], s.Frame[:6])
	copy(out[12:], s.Frame[12:14])
	ip := out[ipv4.LinkHeader:]
	ip[0] = 4<<4 | ipv4.IPHeader/4
	ip[6] = 0x40 // don't fragment
	ip[8] = 64
	ip[9] = ipv4.TCP
	copy(ip[12:], s.IP[16:20])
	copy(ip[16:], s.IP[12:16])
	tcp, of := ip[ipv4.IPHeader:], s.Transport()
	copy(tcp, of[2:4])
	copy(tcp[2:], of[:2])
	binary.BigEndian.PutUint32(tcp[4:], sequence)
	binary.BigEndian.PutUint32(tcp[8:], acknowledges)
	tcp[12] = byte((ipv4.TCPHeader + len(options)) / 4 << 4)
	tcp[13] = flags
	binary.BigEndian.PutUint16(tcp[14:], window)
	copy(tcp[ipv4.TCPHeader:], options)
	copy(tcp[ipv4.TCPHeader+len(options):], data)
	p := ipv4.Packet{Frame: out, IP: ip, Header: ipv4.IPHeader}
	p.Seal()
	return out
}

// isFar reports whether the client's round trip is longer than a host's own network, whose own sample would be the gateway's
// then: by the timestamp of ours that its first segment echoes, which counts about milliseconds, or by nothing that is known.
func (s *segment) isFar(clock uint32) bool { return !s.stamped || clock != s.echo }

// clockOf is the data plane's clock of timestamps (HANDSHAKE_CLOCK, bpf/handshake/side.h).
func clockOf(event *datapath.WebEvent) uint32 { return uint32(event.At >> datapath.WebClock) }
