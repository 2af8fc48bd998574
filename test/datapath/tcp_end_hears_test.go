package datapath

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/realmgate/realmgate/internal/lab/packets"
)

var errReset = errors.New("it was reset")

// hears takes a segment in. An error is what no correct path between two ends may bring about.
func (e *tcpEnd) hears(p packets.Packet) error {
	switch {
	case p.TCP.Flags&packets.RST != 0:
		return errReset
	case p.TCP.Flags&packets.SYN != 0:
		return e.hearsSYN(p)
	case e.state == endClosed:
		return fmt.Errorf("%s came before any SYN", p)
	case e.state == endSYN && e.client:
		return fmt.Errorf("%s came before the SYN and ACK", p)
	}
	at := int(int32(p.TCP.Sequence - e.irs - 1))
	fine, err := e.hearsStamps(p, at)
	if err != nil || !fine {
		return err
	}
	if err := e.hearsACK(p); err != nil {
		return err
	}
	if n := len(p.Payload) + len(p.TCP.Options); len(p.Payload) > 0 && n > int(e.offered) {
		return fmt.Errorf("%d octets, and the MSS is %d", n, e.offered)
	}
	return e.hearsData(p, at)
}

func (e *tcpEnd) hearsSYN(p packets.Packet) error {
	answer := p.TCP.Flags&packets.ACK != 0
	if answer != e.client {
		return fmt.Errorf("%s at the other end", p)
	}
	if e.state == endOpen || e.client && e.state == endClosed {
		e.answers = true // a challenge, RFC 5961 section 4
		return nil
	}
	if answer && p.TCP.Acknowledge != e.iss+1 {
		return fmt.Errorf("%s acknowledges another SYN", p)
	}
	a, value, echo := read(p)
	if answer && a.timestamps && !e.stamps[echo] {
		return fmt.Errorf("%s echoes what was not sent", p)
	}
	if e.state == endClosed || answer {
		e.agree(a, p)
		e.irs, e.recent = p.TCP.Sequence, value
	}
	e.state = endSYN
	if answer {
		e.state, e.answers = endOpen, true
	}
	return nil
}

// agree has both ends know what both can.
func (e *tcpEnd) agree(a ability, p packets.Packet) {
	e.mss, e.window = min(int(a.mss), int(e.offered)), int(p.TCP.Window)
	if e.can.scale >= 0 && a.scale >= 0 {
		e.scale = a.scale
	} else {
		e.can.scale = -1
	}
	e.can.sack, e.can.timestamps = e.can.sack && a.sack, e.can.timestamps && a.timestamps
}

// hearsStamps looks at timestamps; false where the segment is old (PAWS, RFC 7323 section 5).
func (e *tcpEnd) hearsStamps(p packets.Packet, at int) (bool, error) {
	a, value, echo := read(p)
	if a.timestamps != e.can.timestamps {
		return false, fmt.Errorf("%s: timestamps %t, agreed %t", p, a.timestamps, e.can.timestamps)
	}
	if !a.timestamps {
		return true, nil
	}
	if !e.stamps[echo] && !e.isGatewaysEcho(echo) {
		return false, fmt.Errorf("%s echoes what was not sent", p)
	}
	if int32(value-e.recent) < 0 {
		e.answers = true
		return false, nil
	}
	if at <= e.got {
		e.recent = value
	}
	return true, nil
}

// isGatewaysEcho reports whether a host may hear an echo of what it never sent: 0, which is none, of the gateway's own ACK and of what
// its client has sent before it heard its host.
func (e *tcpEnd) isGatewaysEcho(echo uint32) bool { return !e.client && echo == 0 }

// hearsACK wants nothing acknowledged that the peer has not.
func (e *tcpEnd) hearsACK(p packets.Packet) error {
	acknowledged := int(int32(p.TCP.Acknowledge - e.iss - 1))
	if acknowledged < 0 || acknowledged > e.most {
		return fmt.Errorf("%s acknowledges %d octets of %d that were sent", p, acknowledged, e.most)
	}
	if !e.peer.isIn(0, acknowledged) {
		return fmt.Errorf("%s acknowledges %d octets, and the peer has %d", p, acknowledged, e.peer.got)
	}
	e.state = endOpen
	e.acked = max(e.acked, acknowledged)
	e.sent = max(e.sent, e.acked)
	e.window = max(e.window, acknowledged+int(p.TCP.Window)<<e.scale)
	for o := p.TCP.Options; len(o) > 1 && o[0] != 0; {
		if o[0] == 1 {
			o = o[1:]
			continue
		}
		for b := o[2:o[1]]; o[0] == 5 && len(b) >= 8; b = b[8:] {
			from, to := int(int32(binary.BigEndian.Uint32(b)-e.iss-1)), int(int32(binary.BigEndian.Uint32(b[4:])-e.iss-1))
			if from >= to || to > e.most || !e.peer.isIn(from, to) {
				return fmt.Errorf("%s selects %d to %d, which the peer has not", p, from, to)
			}
		}
		o = o[o[1]:]
	}
	return nil
}

func (e *tcpEnd) hearsData(p packets.Packet, at int) error {
	n, fin := len(p.Payload), p.TCP.Flags&packets.FIN != 0
	if n == 0 && !fin {
		return nil
	}
	e.answers = true
	if at+n > e.edge {
		if at+n > e.early+1 {
			return fmt.Errorf("%s goes beyond the window: %d of %d octets", p, at+n, e.edge)
		}
		return nil // the gateway promised more before it knew us
	}
	for i, octet := range p.Payload {
		if at+i < 0 {
			return fmt.Errorf("%s begins before the first octet", p)
		}
		if e.has[at+i] && e.in[at+i] != octet {
			return fmt.Errorf("%s: octet %d is another than before", p, at+i)
		}
		e.in[at+i], e.has[at+i] = octet, true
	}
	if fin {
		e.finished = at + n
	}
	for e.has[e.got] {
		e.got++
	}
	if e.got == e.finished {
		e.got++
	}
	return nil
}
