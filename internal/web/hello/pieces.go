package hello

import (
	"bytes"
	"slices"
)

// pieces puts octets together that come with their offset, in any order. The
// caller bounds offset + length, and with it the memory.
type pieces struct {
	octets []byte
	held   []span // by offset, apart from each other
}

// span is octets from inclusive to exclusive.
type span struct{ from, to int }

// put takes in data at an offset and says whether any of it is new. Data that
// differ from what is held change nothing: ErrDiffers.
func (p *pieces) put(offset int, data []byte) (fresh bool, err error) {
	if len(data) == 0 {
		return false, nil
	}
	add := span{offset, offset + len(data)}
	known := 0
	first, _ := slices.BinarySearchFunc(p.held, add.from, func(s span, from int) int { return s.to - from })
	last := first
	for ; last < len(p.held) && p.held[last].from <= add.to; last++ {
		from, to := max(add.from, p.held[last].from), min(add.to, p.held[last].to)
		if !bytes.Equal(p.octets[from:to], data[from-offset:to-offset]) {
			return false, ErrDiffers
		}
		known += to - from
	}
	if known == len(data) {
		return false, nil
	}
	if more := add.to - len(p.octets); more > 0 {
		p.octets = slices.Grow(p.octets, more)[:add.to]
	}
	copy(p.octets[offset:], data)
	if first < last {
		add.from = min(add.from, p.held[first].from)
		add.to = max(add.to, p.held[last-1].to)
	}
	p.held = slices.Replace(p.held, first, last, add)
	return true, nil
}

// start is what is held without a gap from offset 0.
func (p *pieces) start() []byte {
	if len(p.held) == 0 || p.held[0].from != 0 {
		return nil
	}
	return slices.Clip(p.octets[:p.held[0].to])
}
