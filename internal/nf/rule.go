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
	Value                     uint32
}

// Flow is what rules are asked about.
type Flow struct {
	Direction           model.Direction // model.Out or model.In
	Source, Destination netip.Addr
	Protocol            model.Protocol
	Port                uint16 // of the destination
}

// Matches reports whether the rule is for the flow.
func (r Rule) Matches(f Flow) bool {
	within := func(p netip.Prefix, s *model.AddressSet, a netip.Addr) bool {
		return (!p.IsValid() || p.Contains(a)) && (s == nil || s.Contains(a))
	}
	switch {
	case r.Direction != model.AnyDirection && r.Direction != f.Direction:
	case r.Protocol != model.AnyProtocol && r.Protocol != f.Protocol:
	case r.Ports != (model.Ports{}) && (!f.Protocol.HasPorts() || f.Port < r.Ports.First || f.Port > r.Ports.Last):
	default:
		return within(r.Source, r.SourceSet, f.Source) && within(r.Destination, r.DestinationSet, f.Destination)
	}
	return false
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
	case r.Ports.Last < r.Ports.First:
		return fmt.Errorf("ports %d to %d: the last is below the first", r.Ports.First, r.Ports.Last)
	case r.Ports != (model.Ports{}) && r.Protocol == model.ICMP:
		return fmt.Errorf("ICMP has no ports")
	}
	return nil
}
