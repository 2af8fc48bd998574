package siphash

import "testing"

// The vector of the paper on SipHash: key 00…0f, data 00…0e.
func TestSipHash(t *testing.T) {
	var key [16]byte
	var data []byte
	for i := range key {
		key[i] = byte(i)
		data = append(data, byte(i))
	}
	for length, want := range map[int]uint64{15: 0xa129ca6149be45e5, 0: 0x726fdb47dd0e0e31, 8: 0x93f5f5799a932462} {
		if got := Sum(&key, data[:length]); got != want {
			t.Errorf("%d octets: %x, want %x", length, got, want)
		}
	}
}
