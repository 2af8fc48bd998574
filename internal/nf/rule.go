package nf

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
)

// Rule says which flows a value is for; zero fields match all. Destination is a
// private host's own address in flows from outside.
type Rule struct {
	Direction                 model.Direction
	Source, Destination       netip.Prefix      // IPv4
	SourceSet, DestinationSet *model.AddressSet // instead of a prefix; its IPv4 addresses
	Protocol                  model.Protocol
	Ports                     model.Ports // of the destination
	SourcePorts               model.Ports
	Value                     uint32
}

func (r Rule) check() error {
	for _, p := range []netip.Prefix{r.Source, r.Destination} {
		if p.IsValid() && !p.Addr().Is4() {
			return fmt.Errorf("%s is not IPv4", p)
		}
	}
	switch {
	case r.Source.IsValid() && r.SourceSet != nil, r.Destination.IsValid() && r.DestinationSet != nil:
		return errors.New("a prefix and a set of one end")
	case r.Direction > model.In:
		return fmt.Errorf("direction %d: want 0 to %d", r.Direction, model.In)
	}
	for _, p := range []model.Ports{r.Ports, r.SourcePorts} {
		switch {
		case p.Last < p.First:
			return fmt.Errorf("ports %d to %d: the last is below the first", p.First, p.Last)
		case p != (model.Ports{}) && r.Protocol == model.ICMP:
			return errors.New("ICMP has no ports")
		}
	}
	return nil
}
