package match

import (
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
)

// End is where a private host or a port of a service is.
type End struct {
	Host     netip.Addr
	Protocol model.Protocol
	Port     uint16 // 0: every one
}

// Rules say conditions as rules.
func Rules(conditions []Condition, n nf.Names) (rules []nf.Rule) {
	for _, c := range conditions {
		rules = append(rules, c.Rules(model.AnyDirection, n, nil)...)
	}
	return rules
}

// Rules say a condition as rules. Its remote end, and the private one, are where
// flows go or where they come from: that takes a rule for each direction. A private end
// without ports gets none where a source port is wanted.
func (c Condition) Rules(direction model.Direction, n nf.Names, private *End) (rules []nf.Rule) {
	if private != nil && private.Protocol == model.ICMP && c.SourcePorts != (model.Ports{}) {
		return nil
	}
	rule := nf.Rule{Direction: direction, Source: c.From, Destination: c.To, Protocol: c.Protocol, Ports: c.Ports, SourcePorts: c.SourcePorts}
	set := n.Set(c.Set)
	if !c.Remote.IsValid() && set == nil && private == nil {
		return []nf.Rule{rule}
	}
	for _, d := range []model.Direction{model.Out, model.In} {
		if direction != model.AnyDirection && direction != d {
			continue
		}
		r := rule
		r.Direction = d
		remote, inside := &r.Destination, &r.Source
		if d == model.In {
			remote, inside = inside, remote
			r.SourceSet = set
		} else {
			r.DestinationSet = set
		}
		if c.Remote.IsValid() {
			*remote = c.Remote
		}
		if private != nil {
			*inside = netip.PrefixFrom(private.Host, private.Host.BitLen())
			if private.Protocol != model.AnyProtocol {
				r.Protocol = private.Protocol
			}
			if private.Port > 0 {
				r.Ports = model.Ports{First: private.Port, Last: private.Port}
			}
		}
		rules = append(rules, r)
	}
	return rules
}
