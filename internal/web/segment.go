package web

import (
	"encoding/binary"
	"errors"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/web/hello"
)

const (
	linkHeader = 14
	ipHeader   = 20
	tcpHeader  = 20

	flagFIN = 0x01
	flagRST = 0x04
	flagPSH = 0x08
	flagACK = 0x10
)

// segment is a frame with a TCP segment, and where its parts are.
type segment struct {
	frame        []byte
	ip, tcp      []byte
	payload      []byte
	sequence     uint32
	acknowledges uint32
	end          uint32 // behind its data and its FIN
	stamped      bool
	value, echo  uint32 // its timestamps
}

var errFrame = errors.New("the frame holds no whole TCP segment")

// parseSegment reads a frame, which it completes: a sender that leaves the checksum to an interface has written that of the
// pseudo-header alone, and nothing fills it when the frame is sent again.
func parseSegment(frame []byte) (segment, error) {
	if len(frame) < linkHeader+ipHeader+tcpHeader || frame[linkHeader]>>4 != 4 {
		return segment{}, errFrame
	}
	ip := frame[linkHeader:]
	header, total := int(ip[0]&15)*4, int(binary.BigEndian.Uint16(ip[2:]))
	if header < ipHeader || total > len(ip) || total < header+tcpHeader {
		return segment{}, errFrame
	}
	s := segment{frame: frame[:linkHeader+total], ip: ip[:header], tcp: ip[header:total]}
	offset := int(s.tcp[12]>>4) * 4
	if offset < tcpHeader || offset > len(s.tcp) {
		return segment{}, errFrame
	}
	if err := complete(s.tcp[16:18], pseudoSum(s.ip, len(s.tcp)), s.tcp); err != nil {
		return segment{}, err
	}
	s.payload = s.tcp[offset:]
	s.sequence, s.acknowledges = binary.BigEndian.Uint32(s.tcp[4:]), binary.BigEndian.Uint32(s.tcp[8:])
	s.end = s.sequence + uint32(len(s.payload))
	if s.tcp[13]&flagFIN != 0 {
		s.end++
	}
	s.readTimestamps(s.tcp[tcpHeader:offset])
	return s, nil
}

var errChecksum = errors.New("the checksum is wrong")

// complete checks the checksum of all, in which field is, and fills it where it is that of the pseudo-header.
func complete(field []byte, pseudo uint32, all []byte) error {
	switch {
	case fold(pseudo+sum(all)) == 0xffff:
	case binary.BigEndian.Uint16(field) == fold(pseudo):
		binary.BigEndian.PutUint16(field, checksum(sum(all)))
	default:
		return errChecksum
	}
	return nil
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

// hasSACK reports whether selective acknowledgements were agreed upon, by the cookie that a first segment acknowledges
// (bpf/handshake/syn_cookie.h).
func (s *segment) hasSACK() bool { return (s.acknowledges-1)>>24&1 != 0 }

// window is what is promised behind the handshake, by the scale that the same cookie has (HANDSHAKE_WINDOW and _SCALE).
func (s *segment) window() uint16 {
	const none, scale = 15, 7
	if (s.acknowledges-1)>>25&15 == none {
		return hello.MaxBytes
	}
	return hello.MaxBytes >> scale
}

// selective acknowledges what comes after the client's first number selectively, up to but not including end, and no other way.
func (s *segment) selective(from, end uint32) []byte {
	block := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte{1, 1, 5, 10}, from), end)
	return s.write(block, nil, flagACK, s.window(), s.acknowledges, from)
}

// answer is a segment to who sent s.
func (s *segment) answer(flags byte, sequence, acknowledges uint32, data []byte) []byte {
	return s.write(nil, data, flags, 0, sequence, acknowledges)
}

// write makes a segment with the link and IP addresses and ports of s the other way round, and options behind timestamps.
func (s *segment) write(options, data []byte, flags byte, window uint16, sequence, acknowledges uint32) []byte {
	if s.stamped {
		stamps := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte{1, 1, 8, 10}, s.echo), s.value)
		options = append(stamps, options...)
	}
	length := ipHeader + tcpHeader + len(options) + len(data)
	out := make([]byte, linkHeader+length)
	copy(out, s.frame[6:12])
	copy(out[6:], s.frame[:6])
	copy(out[12:], s.frame[12:14])
	ip := out[linkHeader:]
	ip[0] = 4<<4 | ipHeader/4
	binary.BigEndian.PutUint16(ip[2:], uint16(length))
	ip[6] = 0x40 // don't fragment
	ip[8] = 64
	ip[9] = 6
	copy(ip[12:], s.ip[16:20])
	copy(ip[16:], s.ip[12:16])
	binary.BigEndian.PutUint16(ip[10:], ^fold(sum(ip[:ipHeader])))
	tcp := ip[ipHeader:]
	copy(tcp, s.tcp[2:4])
	copy(tcp[2:], s.tcp[:2])
	binary.BigEndian.PutUint32(tcp[4:], sequence)
	binary.BigEndian.PutUint32(tcp[8:], acknowledges)
	tcp[12] = byte((tcpHeader + len(options)) / 4 << 4)
	tcp[13] = flags
	binary.BigEndian.PutUint16(tcp[14:], window)
	copy(tcp[tcpHeader:], options)
	copy(tcp[tcpHeader+len(options):], data)
	binary.BigEndian.PutUint16(tcp[16:], ^fold(pseudoSum(ip[:ipHeader], len(tcp))+sum(tcp)))
	return out
}

// sum adds octets up as RFC 1071 does, but for the fold; 64 KiB at most.
func sum(octets []byte) (total uint32) {
	for ; len(octets) > 1; octets = octets[2:] {
		total += uint32(octets[0])<<8 | uint32(octets[1])
	}
	if len(octets) == 1 {
		total += uint32(octets[0]) << 8
	}
	return total
}

func fold(total uint32) uint16 {
	for total > 0xffff {
		total = total>>16 + total&0xffff
	}
	return uint16(total)
}

// pseudoSum is that of the pseudo-header (RFC 9293 section 3.1).
func pseudoSum(ip []byte, length int) uint32 { return sum(ip[12:20]) + uint32(ip[9]) + uint32(length) }

// isFar reports whether the client's round trip is longer than a host's own network, whose own sample would be the gateway's
// then: by the timestamp of ours that its first segment echoes, which counts about milliseconds, or by nothing that is known.
func (s *segment) isFar(clock uint32) bool { return !s.stamped || clock != s.echo }

// clockOf is the data plane's clock of timestamps (HANDSHAKE_CLOCK, bpf/handshake/side.h).
func clockOf(event *datapath.WebEvent) uint32 { return uint32(event.At >> datapath.WebClock) }
