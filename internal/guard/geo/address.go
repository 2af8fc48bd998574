package geo

import (
	"encoding/binary"
	"math"
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
)

// address is an address as a number. Both families go through the same code.
type address[A any] interface {
	comparable
	less(A) bool
	next() A // the last address's is the first
	prev() A // the first address's is the last
	append([]byte) []byte
}

type v4 uint32

func (a v4) less(b v4) bool           { return a < b }
func (a v4) next() v4                 { return a + 1 }
func (a v4) prev() v4                 { return a - 1 }
func (a v4) append(to []byte) []byte  { return binary.BigEndian.AppendUint32(to, uint32(a)) }
func readV4(from []byte) v4           { return v4(binary.BigEndian.Uint32(from)) }
func asV4(a netip.Addr) v4            { return v4(model.AddressNumber(a)) }
func rangeV4(p netip.Prefix) (v4, v4) { r := model.RangeOf(p); return v4(r.First), v4(r.Last) }
func (a v4) to(last v4) model.AddressRange {
	return model.AddressRange{First: uint32(a), Last: uint32(last)}
}

type v6 struct{ high, low uint64 }

func (a v6) less(b v6) bool { return a.high < b.high || a.high == b.high && a.low < b.low }

func (a v6) next() v6 {
	if a.low++; a.low == 0 {
		a.high++
	}
	return a
}

func (a v6) prev() v6 {
	if a.low == 0 {
		a.high--
	}
	a.low--
	return a
}

func (a v6) append(to []byte) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(to, a.high), a.low)
}

func readV6(from []byte) v6 {
	return v6{binary.BigEndian.Uint64(from), binary.BigEndian.Uint64(from[8:])}
}

func asV6(a netip.Addr) v6 {
	b := a.As16()
	return readV6(b[:])
}

func rangeV6(p netip.Prefix) (first, last v6) {
	first = asV6(p.Masked().Addr())
	last = first
	last.high |= math.MaxUint64 >> min(p.Bits(), 64)
	last.low |= math.MaxUint64 >> max(p.Bits()-64, 0)
	return first, last
}

func (a v6) to(last v6) Range6 { return Range6{a.addr(), last.addr()} }

func (a v6) addr() netip.Addr { return netip.AddrFrom16([16]byte(a.append(nil))) }

// Range6 is a run of IPv6 addresses, both ends included.
type Range6 struct{ First, Last netip.Addr }
