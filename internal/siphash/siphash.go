package siphash

import (
	"encoding/binary"
	"math/bits"
)

// Sum is the hash of data. The octets of key and data count as little-endian.
func Sum(key *[16]byte, data []byte) uint64 {
	k0, k1 := binary.LittleEndian.Uint64(key[:]), binary.LittleEndian.Uint64(key[8:])
	v := [4]uint64{k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573}
	last := uint64(len(data)) << 56
	for ; len(data) >= 8; data = data[8:] {
		block(&v, binary.LittleEndian.Uint64(data))
	}
	for i, octet := range data {
		last |= uint64(octet) << (8 * i)
	}
	block(&v, last)
	v[2] ^= 0xff
	rounds(&v, 4)
	return v[0] ^ v[1] ^ v[2] ^ v[3]
}

func block(v *[4]uint64, word uint64) {
	v[3] ^= word
	rounds(v, 2)
	v[0] ^= word
}

func rounds(v *[4]uint64, n int) {
	for range n {
		v[0] += v[1]
		v[1] = bits.RotateLeft64(v[1], 13) ^ v[0]
		v[0] = bits.RotateLeft64(v[0], 32)
		v[2] += v[3]
		v[3] = bits.RotateLeft64(v[3], 16) ^ v[2]
		v[0] += v[3]
		v[3] = bits.RotateLeft64(v[3], 21) ^ v[0]
		v[2] += v[1]
		v[1] = bits.RotateLeft64(v[1], 17) ^ v[2]
		v[2] = bits.RotateLeft64(v[2], 32)
	}
}
