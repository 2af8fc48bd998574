package trafficgen

import (
	"encoding/binary"
	"fmt"
)

const stateBytes = 8

// External returns the least range of addresses that the responder has seen as
// sources in an epoch.
func (g *Generator) External(epoch uint16) (seen Addresses, err error) {
	first, last := ^uint32(0), uint32(0)
	err = g.states(epoch, func(state uint64) {
		var octets [4]byte
		binary.NativeEndian.PutUint32(octets[:], uint32(state>>32))
		address := binary.BigEndian.Uint32(octets[:])
		first, last = min(first, address), max(last, address)
	})
	if err != nil {
		return seen, err
	}
	if first > last {
		return seen, fmt.Errorf("the responder saw nothing in epoch %d", epoch)
	}
	return Addresses{First: addressOf(first), Count: int(last-first) + 1}, nil
}

// Seen returns how many flows the responder has seen in an epoch.
func (g *Generator) Seen(epoch uint16) (flows int, err error) {
	err = g.states(epoch, func(uint64) { flows++ })
	return flows, err
}

// states calls each for every flow that was seen in an epoch. measure.h: address and
// port in network byte order, then the epoch.
func (g *Generator) states(epoch uint16, each func(state uint64)) error {
	memory, err := g.objects.TrafficgenStates.Memory()
	if err != nil {
		return fmt.Errorf("read what the responder saw: %w", err)
	}
	states := make([]byte, stateBytes*g.flows)
	if _, err := memory.ReadAt(states, 0); err != nil {
		return fmt.Errorf("read what the responder saw: %w", err)
	}
	for ; len(states) > 0; states = states[stateBytes:] {
		if state := binary.NativeEndian.Uint64(states); uint16(state) == epoch {
			each(state)
		}
	}
	return nil
}
