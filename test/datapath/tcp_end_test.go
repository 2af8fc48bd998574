package datapath

import (
	"fmt"
	"math/rand/v2"
	"net/netip"

	"github.com/realmgate/realmgate/internal/lab/packets"
)

// tcpEnd is one end of a connection, a small TCP (RFC 9293, 7323, 2018) without a clock: it is told when its timer has run
// down. What it gets is checked against what its peer really has: peer is never read for anything else.
type tcpEnd struct {
	own, other netip.AddrPort
	peer       *tcpEnd
	random     *rand.Rand
	can        ability // what it offers, then what both can
	offered    uint16  // its MSS, which nothing may exceed
	client     bool

	state    endState
	iss, irs uint32
	answers  bool // it owes an ACK

	// Offsets in the stream begin with 0. The FIN takes the one behind the last.
	out               []byte
	sent, acked, most int // most was ever sent
	mss               int
	scale             int // of the peer's windows
	window            int // edge of what may be sent
	in                []byte
	has               []bool
	got               int // in order
	finished          int // length of what the peer sends, -1: not known
	edge              int // of what the peer may send
	early             int // and what the gateway has promised before
	clock, recent     uint32
	stamps            map[uint32]bool // that it has sent
}

type endState uint8

const (
	endClosed endState = iota
	endSYN             // sent, or received
	endOpen
)

const endRoom = 1 << 17 // octets, more than any stream of these tests

func newTCPEnd(random *rand.Rand, own, other netip.AddrPort, can ability, out []byte) *tcpEnd {
	return &tcpEnd{
		own: own, other: other, random: random, can: can, offered: can.mss, out: out, iss: random.Uint32(), clock: random.Uint32(), mss: 536,
		in: make([]byte, endRoom), has: make([]bool, endRoom), finished: -1, stamps: map[uint32]bool{},
	}
}

// done reports whether all was sent and acknowledged, and all received.
func (e *tcpEnd) done() bool {
	return e.acked == len(e.out)+1 && e.finished >= 0 && e.got == e.finished+1
}

func (e *tcpEnd) stream() string { return string(e.in[:max(e.finished, 0)]) }

// isIn reports whether it has the octets, or the FIN, at these offsets of its peer's stream.
func (e *tcpEnd) isIn(from, to int) bool {
	for at := from; at < to; at++ {
		if at < 0 || at >= endRoom || !e.has[at] && at != e.finished {
			return false
		}
	}
	return true
}

// segment makes one of n octets.
func (e *tcpEnd) segment(flags packets.Flags, at, n int) packets.Packet {
	e.clock += e.random.Uint32N(3)
	fin := n > 0 && at+n == len(e.out)+1
	if fin {
		n--
		flags |= packets.FIN
	}
	p := with(segment(e.own, e.other, flags, e.iss+1+uint32(at), 0), string(e.out[min(at, len(e.out)):min(at+n, len(e.out))]))
	if flags&packets.ACK != 0 {
		p.TCP.Acknowledge = e.irs + 1 + uint32(e.got)
	}
	p.TCP.Window = e.announce()
	p.TCP.Options = e.options()
	return p
}

// announce is a window, which never takes back what one before it gave.
func (e *tcpEnd) announce() uint16 {
	scale := max(e.can.scale, 0)
	want := max(e.edge-e.got, 4096+e.random.IntN(60000)) + 1<<scale - 1 // rounded up
	window := min(want>>scale, 65535)
	e.edge = max(e.edge, e.got+window<<scale)
	return uint16(window)
}

// options are those of a segment that is no SYN, in any layout that is allowed (RFC 9293 section 3.1).
func (e *tcpEnd) options() (o []byte) {
	var parts [][]byte
	if e.can.timestamps {
		e.stamps[e.clock] = true
		parts = append(parts, stamps(e.clock, e.recent)[2:])
	}
	if e.can.sack {
		if s := e.selected(); s != nil {
			parts = append(parts, s)
		}
	}
	if e.random.IntN(8) == 0 {
		parts = append(parts, []byte{254, 5, 8, 10, 5}) // that nobody knows
	}
	if e.random.IntN(3) == 0 {
		e.random.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		for _, part := range parts {
			for range e.random.IntN(3) {
				o = append(o, 1)
			}
			o = append(o, part...)
		}
		if len(o) < 38 && e.random.IntN(3) == 0 {
			o = append(o, 0, 8) // behind the end, which is nothing
		}
	}
	if len(o) == 0 || len(padded(o)) > 40 { // as most lay them out
		o = nil
		for _, part := range parts {
			o = append(o, 1, 1)
			o = append(o, part...)
		}
	}
	if o = padded(o); len(o) > 40 {
		return stamps(e.clock, e.recent) // only then there is so much to say
	}
	return o
}

// selected is a SACK option of up to three of the blocks that came early.
func (e *tcpEnd) selected() (o []byte) {
	var blocks [][2]uint32
	for at := e.got; at < e.edge && at < endRoom-1 && len(blocks) < 3; at++ {
		if !e.has[at] {
			continue
		}
		from := at
		for at < endRoom-1 && e.has[at] {
			at++
		}
		blocks = append(blocks, [2]uint32{e.irs + 1 + uint32(from), e.irs + 1 + uint32(at)})
	}
	if len(blocks) == 0 {
		return nil
	}
	o = []byte{5, byte(2 + 8*len(blocks))}
	for _, b := range blocks {
		for _, v := range b {
			o = append(o, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
		}
	}
	return o
}

// begin is a client's SYN, or a host's SYN and ACK.
func (e *tcpEnd) begin(flags packets.Flags) packets.Packet {
	e.clock++
	p := segment(e.own, e.other, flags, e.iss, 0)
	if flags&packets.ACK != 0 {
		p.TCP.Acknowledge = e.irs + 1
	}
	p.TCP.Window = uint16(min(20000+e.random.IntN(40000), 65535)) // not scaled
	e.edge = max(e.edge, e.got+int(p.TCP.Window))
	e.stamps[e.clock] = e.can.timestamps
	p.TCP.Options = padded(e.can.options(e.clock, e.recent))
	e.state = max(e.state, endSYN)
	return p
}

// emits is what it has to send now, if there is anything.
func (e *tcpEnd) emits() (packets.Packet, bool) {
	switch {
	case e.state == endClosed && e.client:
		return e.begin(packets.SYN), true
	case e.state != endOpen:
		return packets.Packet{}, false
	}
	room := min(e.window, len(e.out)+1) - e.sent
	if room <= 0 {
		if !e.answers {
			return packets.Packet{}, false
		}
		e.answers = false
		return e.segment(packets.ACK, e.sent, 0), true
	}
	e.answers = false
	n := min(1+e.random.IntN(e.mss-40), room) // with room for options
	p := e.segment(packets.ACK|packets.Flags(e.random.IntN(2))*packets.PSH, e.sent, n)
	e.sent += n
	e.most = max(e.most, e.sent)
	return p, true
}

// timer has run down: all that is not acknowledged goes again.
func (e *tcpEnd) timer() (packets.Packet, bool) {
	switch {
	case e.state == endSYN && e.client:
		return e.begin(packets.SYN), true
	case e.state == endSYN:
		return e.begin(synAck), true
	case e.state == endOpen && e.acked < len(e.out)+1:
		e.sent = e.acked
		if e.window <= e.sent { // a probe
			e.window = e.sent + 1
		}
	}
	return packets.Packet{}, false
}

func (e *tcpEnd) String() string {
	return fmt.Sprintf("%s: state %d, %s, sent %d, acknowledged %d of %d, got %d of %d", e.own, e.state, e.can, e.sent, e.acked, len(e.out), e.got, e.finished)
}
