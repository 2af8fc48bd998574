package tenants

import (
	"errors"
	"net/netip"
	"slices"
)

// Setup is what of the configuration others may get in the way of.
type Setup struct {
	Public, Private []string     // interfaces
	Stack           []string     // those of both that the kernel sends to
	External        []netip.Addr // pool and outbound addresses
	XDP             bool         // a program of the gateway is in a driver: what it redirects passes by qdiscs
	// IsOurs tells the gateway's own XDP programs by their numbers; nil: nobody can tell.
	IsOurs func(program uint32) bool
}

// Find says what others do to the gateway's packets in this network namespace. What could be
// found stands beside an error, too.
func Find(s *Setup) ([]string, error) {
	rules, err := readNftables()
	legacy, err2 := readLegacy()
	links, err3 := s.links()
	list := slices.Concat(s.filters(append(rules, legacy...)), s.translations(append(rules, legacy...)), links)
	return list, errors.Join(err, err2, err3)
}

func (s *Setup) interfaces() []string { return slices.Concat(s.Public, s.Private) }
