package tenants

import (
	"errors"
	"io/fs"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/config"
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

// SetupOf is what of a configuration they may get in the way of, with its outbound addresses of now.
func SetupOf(c *config.Config, outbound []netip.Addr, xdp bool, ours func(program uint32) bool) *Setup {
	return &Setup{
		Public: c.Interfaces.Public, Private: c.Interfaces.Private, Stack: c.Interfaces.Stack,
		External: slices.Concat(outbound, c.Pool.Addresses, c.Web.Addresses), XDP: xdp, IsOurs: ours,
	}
}

// Found is what Find says, and in a line more what it could not look at for another reason than a lack of rights.
func Found(s *Setup) []string {
	found, err := Find(s)
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		found = append(found, err.Error())
	}
	return found
}

// Find says what others do to the gateway's packets in this network namespace. What could be
// found stands beside an error, too.
func Find(s *Setup) ([]string, error) {
	rules, err := s.Rules()
	links, err2 := s.Links()
	return slices.Concat(rules, links), errors.Join(err, err2)
}

// Rules says it of firewalls.
func (s *Setup) Rules() ([]string, error) {
	rules, err := readNftables()
	legacy, err2 := readLegacy()
	all := append(rules, legacy...)
	return slices.Concat(s.filters(all), s.translations(all)), errors.Join(err, err2)
}

func (s *Setup) interfaces() []string { return slices.Concat(s.Public, s.Private) }
