package multipath

import (
	"encoding/binary"
	"math"
	"math/bits"
	"net/netip"
)

// Backend is a private endpoint that flows may be sent to.
type Backend struct {
	To     netip.Addr // IPv4
	Port   uint16     // 0: the flow's own
	Weight int        // 1 to 100: its share among those that are up
}

const (
	lots   = int(multipathMultipathLimitMULTIPATH_SLOTS)
	nobody = uint8(multipathMultipathLimitMULTIPATH_NOBODY)
)

// tableOf makes the table of backends, of which some are up.
func tableOf(backends []Backend, up []bool, seed uint64) multipathMultipathTable {
	t := multipathMultipathTable{Seed: seed, Count: uint32(len(backends))}
	for i, b := range backends {
		address := b.To.As4()
		t.Target[i] = multipathMultipathTarget{Address: binary.NativeEndian.Uint32(address[:]), Port: bits.ReverseBytes16(b.Port)}
	}
	copy(t.Slot[:], spread(backends, up))
	return t
}

// spread gives each slot to one of the backends that are up, by weighted rendezvous
// hashing (Schindelhauer and Schomaker, 2005): in each slot the backends draw lots and
// the best one has it. What one draws does not depend on the others, so that when one
// goes only its lots get another, and when it is back it gets the same again.
func spread(backends []Backend, up []bool) []uint8 {
	places := make([]uint8, lots)
	for slot := range places {
		places[slot] = nobody
		best := math.Inf(-1)
		for i, b := range backends {
			if !up[i] {
				continue
			}
			if drawn := b.draw(slot); drawn > best {
				best, places[slot] = drawn, uint8(i)
			}
		}
	}
	return places
}

// draw is the backend's lot for a slot. By what it is known for alone: its place among
// others does not matter.
func (b Backend) draw(slot int) float64 {
	address := b.To.As4()
	who := uint64(binary.BigEndian.Uint32(address[:]))<<16 | uint64(b.Port)
	// 53 bits and a half: never 0 and never 1.
	uniform := (float64(mixed(mixed(uint64(slot))^who)>>11) + 0.5) / (1 << 53)
	return float64(b.Weight) / -math.Log(uniform)
}

// mixed is the finalizer of SplitMix64 (Steele, Lea and Flood, 2014).
func mixed(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}
