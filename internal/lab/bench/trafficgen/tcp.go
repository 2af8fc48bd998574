package trafficgen

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// TCPSteps is how many packets a TCP session has: SYN, SYN-ACK, ACK, a data
// segment each way with its ACK, FIN, FIN-ACK, ACK. The responder closes, as a
// server of HTTP/1.0 does.
const TCPSteps = int(bpfTcpLimitTCP_STEPS)

// Replies returns how many sessions of the last plan had their data segment from the
// responder arrive at the initiator.
func (g *Generator) Replies(sessions int) (replies int, err error) {
	const step = 5 // tcp.h: the responder's data
	memory, err := g.objects.TrafficgenSequences.Memory()
	if err != nil {
		return 0, fmt.Errorf("read which frames came: %w", err)
	}
	bits := make([]byte, (sessions*TCPSteps+63)/64*8)
	if _, err := memory.ReadAt(bits, int64(Initiator)*int64(bpfTrafficgenLimitSEQUENCE_WORDS)*8); err != nil {
		return 0, fmt.Errorf("read which frames came: %w", err)
	}
	for flow := range sessions {
		number := flow*TCPSteps + step
		if word := binary.NativeEndian.Uint64(bits[number/64*8:]); word>>(number%64)&1 == 1 {
			replies++
		}
	}
	return replies, nil
}

const tcpHeaders = 14 + 20 + 20 // Ethernet, IPv4, TCP

func (p Plan) checkTCP() error {
	if !p.TCP {
		return nil
	}
	n := p.Flows.Count()
	switch {
	case p.Window == 0:
		return fmt.Errorf("TCP sessions need a window")
	case p.Frames != n*TCPSteps:
		return fmt.Errorf("%d frames of %d TCP sessions: want %d of each", p.Frames, n, TCPSteps)
	case n > 1<<(31-p.tcpShift()):
		return fmt.Errorf("%d TCP sessions with frames of %d octets: at most %d can be told apart", n, p.Length, 1<<(31-p.tcpShift()))
	}
	return nil
}

// tcpShift is how many bits of a sequence number a session's octets take: those
// of one data segment, SYN and FIN. The others name the session.
func (p Plan) tcpShift() uint32 {
	const controls = 2
	return uint32(bits.Len(uint(p.Length - checkLength - tcpHeaders + controls)))
}
