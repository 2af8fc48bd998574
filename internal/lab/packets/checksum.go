package packets

import (
	"encoding/binary"
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
)

// Checksum says what a checksum field holds: Bytes writes it so, Parse finds
// it so. The field ChecksumValue beside it counts for ChecksumBad and
// ChecksumUnknown, and for a valid sum that was written as 0xffff where 0 is
// usual: in one's complement both are zero.
type Checksum uint8

// What a checksum field can hold.
const (
	// ChecksumValid is the right sum, and what Bytes writes by default.
	ChecksumValid Checksum = iota
	// ChecksumZero is zero; in UDP over IPv4 it means "not computed" (RFC 768).
	ChecksumZero
	// ChecksumPartial is the sum of the pseudo-header alone, not complemented:
	// what Linux leaves in the field for a device to finish.
	ChecksumPartial
	// ChecksumBad is anything else. Bytes writes ChecksumValue, or, when that
	// is zero, a value that is neither right, zero nor partial.
	ChecksumBad
	// ChecksumUnknown is a sum over octets that are not in this packet (a
	// fragment, a packet quoted in part): Bytes writes ChecksumValue.
	ChecksumUnknown
)

var checksumNames = [...]string{"valid", "zero", "partial", "bad", "unknown"}

// String returns the word for c.
func (c Checksum) String() string {
	if int(c) < len(checksumNames) {
		return checksumNames[c]
	}
	return "checksum-?"
}

// sum adds b, read as 16-bit words in network order, to initial (RFC 1071);
// an odd last octet counts as the high half of a word.
func sum(initial uint32, b []byte) uint32 {
	total := uint64(initial)
	for len(b) >= 2 {
		total += uint64(binary.BigEndian.Uint16(b))
		b = b[2:]
	}
	if len(b) == 1 {
		total += uint64(b[0]) << 8
	}
	return uint32(fold(total))
}

func fold(total uint64) uint16 {
	for total > 0xffff {
		total = total>>16 + total&0xffff
	}
	return uint16(total)
}

// pseudoSum is the sum of the pseudo-header of RFC 9293 §3.1 or RFC 8200 §8.1.
func pseudoSum(source, destination netip.Addr, protocol model.Protocol, length int) uint32 {
	total := sum(0, source.AsSlice())
	total = sum(total, destination.AsSlice())
	return sum(total, []byte{byte(length >> 24), byte(length >> 16), byte(length >> 8), byte(length), 0, byte(protocol)})
}

// checksumField returns what to write into a checksum field that is zero in b.
// zeroMeansNone is UDP's rule: a computed zero is sent as 0xffff.
func checksumField(kind Checksum, value uint16, pseudo uint32, b []byte, zeroMeansNone bool) uint16 {
	right := ^fold(uint64(sum(pseudo, b)))
	if right == 0 && zeroMeansNone {
		right = 0xffff
	}
	partial := fold(uint64(pseudo))
	switch {
	case kind == ChecksumValid && value == 0xffff && right == 0:
		return value
	case kind == ChecksumValid:
		return right
	case kind == ChecksumZero:
		return 0
	case kind == ChecksumPartial:
		return partial
	case kind == ChecksumUnknown || value != 0:
		return value
	}
	wrong := right ^ 0x5a5a
	for equivalent(wrong, right) || wrong == 0 || wrong == partial {
		wrong++
	}
	return wrong
}

// equivalent reports whether two fields stand for the same sum: in one's
// complement 0 and 0xffff are both zero.
func equivalent(a, b uint16) bool {
	return a == b || (a == 0 || a == 0xffff) && (b == 0 || b == 0xffff)
}

// classify says what the field at offset of b holds, and the value that
// describes it together with the kind. b is restored before it returns.
func classify(b []byte, offset int, pseudo uint32, complete, zeroMeansNone, hasPseudo bool) (Checksum, uint16) {
	field := binary.BigEndian.Uint16(b[offset:])
	if !complete {
		return ChecksumUnknown, field
	}
	// The field is summed as zero, as the sender did.
	total := sum(pseudo, b[:offset])
	total = sum(total, b[offset+2:])
	right := ^fold(uint64(total))
	if right == 0 && zeroMeansNone {
		right = 0xffff
	}
	switch {
	case field == right:
		return ChecksumValid, 0
	case field == 0xffff && right == 0:
		return ChecksumValid, field
	case field == 0:
		return ChecksumZero, 0
	case hasPseudo && field == fold(uint64(pseudo)):
		return ChecksumPartial, 0
	}
	return ChecksumBad, field
}
