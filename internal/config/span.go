package config

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/realmgate/realmgate/internal/schema"
)

// span is a run of IPv4 addresses, both ends included. Spans are counted before
// anything expands them.
type span struct {
	first, last netip.Addr
}

// spans is an address, a prefix or a range, of at most most addresses.
func spans(most int) schema.Kind[span] {
	return schema.Kind[span]{
		Name: "address, prefix or range", Allowed: fmt.Sprintf("at most %d addresses in all", most), Tags: schema.TextTag,
		Want: "an IPv4 address, prefix (198.18.0.32/28) or range (198.18.0.32-198.18.0.47)",
		Show: func(s span) string { return s.first.String() + "-" + s.last.String() },
		Parse: func(text string) (span, error) {
			s, err := parseSpan(text)
			if err != nil {
				return span{}, err
			}
			if s.count() > most {
				return span{}, fmt.Errorf("it has %d addresses, at most %d are allowed", s.count(), most)
			}
			// The narrowest special range is a /16, so no span of 65536 addresses
			// can hide one between two good ends.
			for _, addr := range []netip.Addr{s.first, s.last} {
				if err := schema.CheckUnicast(addr); err != nil {
					return span{}, err
				}
			}
			return s, nil
		},
	}
}

func parseSpan(text string) (span, error) {
	if strings.Contains(text, "/") {
		prefix, err := schema.ParsePrefix(text)
		if err != nil {
			return span{}, err
		}
		hostBits := uint32(1)<<(32-prefix.Bits()) - 1 // all ones for /0: the shift leaves 0
		return span{prefix.Addr(), fromNumber(toNumber(prefix.Addr()) | hostBits)}, nil
	}
	from, to, isRange := strings.Cut(text, "-")
	if !isRange {
		to = from
	}
	first, err := netip.ParseAddr(strings.TrimSpace(from))
	if err != nil || !first.Is4() {
		return span{}, schema.ErrNoHint
	}
	last, err := netip.ParseAddr(strings.TrimSpace(to))
	if err != nil || !last.Is4() {
		return span{}, schema.ErrNoHint
	}
	if last.Less(first) {
		return span{}, errors.New("the range ends before it begins")
	}
	return span{first, last}, nil
}

// count returns the number of addresses, at least 1.
func (s span) count() int { return int(toNumber(s.last)) - int(toNumber(s.first)) + 1 }

// all yields the addresses in rising order.
func (s span) all(yield func(netip.Addr) bool) {
	for addr := s.first; ; addr = addr.Next() {
		if !yield(addr) || addr == s.last {
			return
		}
	}
}

func toNumber(addr netip.Addr) uint32 {
	bytes := addr.As4()
	return binary.BigEndian.Uint32(bytes[:])
}

func fromNumber(n uint32) netip.Addr {
	var bytes [4]byte
	binary.BigEndian.PutUint32(bytes[:], n)
	return netip.AddrFrom4(bytes)
}
