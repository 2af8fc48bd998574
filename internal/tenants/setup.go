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

// Findings are what Find has found, each in one line.
type Findings struct {
	Rules, Links []string // what others do to the gateway's packets, and what mends it
	Failed       []string // what could not be looked at
	Denied       []string // what only root may look at: no fault
}

// Find looks for it in this network namespace.
func Find(s *Setup) (f Findings) {
	rules, err := readNftables()
	f.failed("the rules of nftables", err)
	legacy, err := readLegacy()
	f.failed("the rules of iptables-legacy", err)
	all := append(rules, legacy...)
	f.Rules = slices.Concat(s.filters(all), s.translations(all))
	f.Links, err = s.links()
	f.failed("the qdiscs", err)
	return f
}

// failed notes why something could not be looked at.
func (f *Findings) failed(what string, err error) {
	switch {
	case errors.Is(err, fs.ErrPermission):
		f.Denied = append(f.Denied, what)
	case err != nil:
		f.Failed = append(f.Failed, err.Error())
	}
}

func (s *Setup) interfaces() []string { return slices.Concat(s.Public, s.Private) }
