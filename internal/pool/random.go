package pool

import (
	"crypto/rand"
	"encoding/binary"
)

// dice draws uniform numbers from the system's cryptographic source, a buffer
// at a time. An observer of answers must not be able to tell the next address.
type dice struct {
	fill   func([]byte) // replaced by tests that need repeatable draws
	buffer [512]byte
	left   int
}

func newDice() dice {
	// crypto/rand.Read never returns an error: it ends the program instead.
	return dice{fill: func(b []byte) { _, _ = rand.Read(b) }}
}

func (d *dice) draw() uint32 {
	if d.left < 4 {
		d.fill(d.buffer[:])
		d.left = len(d.buffer)
	}
	d.left -= 4
	return binary.LittleEndian.Uint32(d.buffer[d.left:])
}

// below draws from 0..n-1; n is at least 1. Draws that would make the low
// numbers likelier are thrown away.
func (d *dice) below(n int) int {
	limit := uint32(n) // n <= model.MaxPoolAddresses
	threshold := -limit % limit
	for {
		product := uint64(d.draw()) * uint64(limit)
		if uint32(product) >= threshold {
			return int(product >> 32)
		}
	}
}
