package trafficgen

import (
	"encoding/binary"
	"fmt"
)

const stateBytes = 8

// External returns the least range of addresses that the responder has seen as
// sources in an epoch.
func (g *Generator) External(epoch uint16) (seen Addresses, err error) {
	memory, err := g.objects.TrafficgenStates.Memory()
	if err != nil {
		return seen, fmt.Errorf("read what the responder saw: %w", err)
	}
	states := make([]byte, stateBytes*g.flows)
	if _, err := memory.ReadAt(states, 0); err != nil {
		return seen, fmt.Errorf("read what the responder saw: %w", err)
	}
	first, last := ^uint32(0), uint32(0)
	for ; len(states) > 0; states = states[stateBytes:] {
		// measure.h: address and port in network byte order, then the epoch.
		state := binary.NativeEndian.Uint64(states)
		if uint16(state) != epoch {
			continue
		}
		var octets [4]byte
		binary.NativeEndian.PutUint32(octets[:], uint32(state>>32))
		address := binary.BigEndian.Uint32(octets[:])
		first, last = min(first, address), max(last, address)
	}
	if first > last {
		return seen, fmt.Errorf("the responder saw nothing in epoch %d", epoch)
	}
	return Addresses{First: addressOf(first), Count: int(last-first) + 1}, nil
}
