package hello

import (
	"encoding/binary"
	"slices"
	"testing"
)

var destination = []byte{1, 2, 3, 4, 5, 6, 7, 8}

// initial is how a packet is made that Initials opens.
type initial struct {
	version uint32
	by      uint32 // the version that the keys are of, 0: the same
	keys    []byte // the ID that they are derived from
	id      []byte // the ID in the header
	token   []byte
	number  byte
	bits    byte // to be turned in the first octet
	side    string
	length  int // of the datagram, 0: 1200
}

// varint is n in 4 octets (RFC 9000 §16).
func varint(n int) []byte { return binary.BigEndian.AppendUint32(nil, 1<<31|uint32(n)) }

// seal protects frames, padded to the datagram's length (RFC 9001 §5).
func (i initial) seal(tb testing.TB, frames []byte) []byte {
	tb.Helper()
	if i.length == 0 {
		i.length = leastInitial
	}
	version := versions[i.version]
	s := &protection{version: version}
	if i.by != 0 {
		s.version = versions[i.by]
	}
	if err := s.derive(i.keys, i.side); err != nil {
		tb.Fatal(err)
	}
	header := []byte{(0xc1 | version.shift<<4) ^ i.bits} // a packet number of 2 octets
	header = binary.BigEndian.AppendUint32(header, i.version)
	header = append(append(header, byte(len(i.id))), i.id...)
	header = append(header, 2, 9, 9) // its own ID
	header = append(append(header, varint(len(i.token))...), i.token...)
	const ends = 4 + 2 + 16 // length, packet number, tag
	if padding := i.length - len(header) - ends - len(frames); padding > 0 {
		frames = append(slices.Clip(frames), make([]byte, padding)...)
	}
	header = append(header, varint(2+len(frames)+16)...)
	number := len(header)
	header = append(header, 0, i.number)
	nonce := slices.Clone(s.iv)
	nonce[len(nonce)-1] ^= i.number
	packet := s.payload.Seal(header, nonce, frames, header)
	s.header.Encrypt(s.mask[:], packet[number+4:number+20])
	packet[0] ^= s.mask[0] & 0x0f
	packet[number] ^= s.mask[1]
	packet[number+1] ^= s.mask[2]
	return packet
}

func usual() initial {
	return initial{version: 1, keys: destination, id: destination, side: "client in"}
}

// crypto is a CRYPTO frame with message[from:to].
func crypto(message []byte, from, to int) []byte {
	return slices.Concat([]byte{frameCrypto}, varint(from), varint(to-from), message[from:to])
}
