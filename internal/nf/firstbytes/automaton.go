package firstbytes

import (
	"errors"
	"fmt"
	"slices"
)

const (
	// MostSignature is how long a signature may be, bytes.
	MostSignature = int(firstBytesFirstBytesLimitFIRST_BYTES_MOST)
	// MostSignatures is how many a function "first-bytes" may have: bits of a word.
	MostSignatures = 64

	mostNodes = int(firstBytesFirstBytesLimitFIRST_BYTES_NODES)
	passes    = uint16(firstBytesFirstBytesEndFIRST_BYTES_PASS)
	drops     = uint16(firstBytesFirstBytesEndFIRST_BYTES_DROP)
)

// Signature is what a payload may begin with, byte by byte: 1 to MostSignature.
type Signature []Byte

// Byte is one of a signature: that value, or any.
type Byte struct {
	Value uint8
	Any   bool
}

// reading is what is known when some bytes have been read.
type reading struct {
	depth   int    // how many
	left    uint64 // the signatures, a bit each, that these bytes may begin
	allowed bool   // one that is allowed was there
}

// automaton finds out what the first bytes say, one node for all readings that are the
// same from there on.
type automaton struct {
	signatures []Signature
	deny       uint64 // which of them deny; the others allow
	numbers    map[reading]uint16
	readings   []reading // by their numbers
}

// automaton returns the nodes of all signatures, the first of them for what has read
// nothing.
func (f FirstBytes) automaton() ([]firstBytesFirstBytesNode, error) {
	a := automaton{signatures: slices.Concat(f.Deny, f.Allow), deny: 1<<len(f.Deny) - 1}
	switch n := len(a.signatures); {
	case n == 0:
		return nil, errors.New("no signatures")
	case n > MostSignatures:
		return nil, fmt.Errorf("%d signatures: at most %d", n, MostSignatures)
	}
	for _, s := range a.signatures {
		if len(s) == 0 || len(s) > MostSignature {
			return nil, fmt.Errorf("a signature of %d bytes: want 1 to %d", len(s), MostSignature)
		}
	}
	begin := reading{left: ^uint64(0) >> (MostSignatures - len(a.signatures))}
	a.numbers, a.readings = map[reading]uint16{begin: 0}, []reading{begin}
	var nodes []firstBytesFirstBytesNode
	for len(nodes) < len(a.readings) {
		node, err := a.node(a.readings[len(nodes)])
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, node)
	}
	return nodes, nil
}

func (a *automaton) node(r reading) (node firstBytesFirstBytesNode, err error) {
	for b := range node.Next {
		next, denied := a.step(r, uint8(b))
		if node.Next[b] = a.end(next, denied); node.Next[b] != 0 {
			continue
		}
		number, known := a.numbers[next]
		if !known {
			if len(a.readings) == mostNodes {
				return node, fmt.Errorf("the signatures take more than %d nodes: have fewer with ?? in the middle", mostNodes)
			}
			number = uint16(len(a.readings))
			a.numbers[next], a.readings = number, append(a.readings, next)
		}
		node.Next[b] = number
	}
	return node, nil
}

// step reads a byte. denied: one of deny is complete.
func (a *automaton) step(r reading, b uint8) (next reading, denied bool) {
	next = reading{depth: r.depth + 1, allowed: r.allowed}
	for i, s := range a.signatures {
		bit := uint64(1) << i
		switch {
		case r.left&bit == 0 || !s[r.depth].Any && s[r.depth].Value != b:
		case len(s) > next.depth:
			next.left |= bit
		case a.deny&bit != 0:
			denied = true
		default:
			next.allowed = true
		}
	}
	if next.allowed {
		next.left &= a.deny // the others say nothing new
	}
	return next, denied
}

// end is what is known for sure, 0 where more bytes would tell.
func (a *automaton) end(r reading, denied bool) uint16 {
	mustBeAllowed := a.deny+1 != 1<<len(a.signatures) // there are some that allow
	switch {
	case denied:
		return drops
	case r.left != 0:
		return 0
	case mustBeAllowed && !r.allowed:
		return drops
	}
	return passes
}
