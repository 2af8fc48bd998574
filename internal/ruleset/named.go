package ruleset

import (
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/match"
	"github.com/realmgate/realmgate/internal/ruleset/settings"
)

// Named is what conditions of chains and entries of the protection mean by names.
type Named struct {
	ends  map[model.Name][]match.End
	sets  map[string]*model.AddressSet
	lists map[string]*model.AddressSet
}

// NamedIn are those of a configuration; lists are the addresses of its lists, by name.
func NamedIn(c *config.Config, lists map[string]*model.AddressSet) Named {
	n := Named{map[model.Name][]match.End{}, map[string]*model.AddressSet{}, lists}
	for _, h := range c.Hosts {
		n.ends[h.Name] = []match.End{{Host: h.Address}}
		for _, s := range h.Services {
			ends := make([]match.End, len(s.Ports))
			for i, p := range s.Ports {
				ends[i] = match.End{Host: h.Address, Protocol: p.Protocol, Port: p.To}
			}
			for _, name := range s.Names {
				n.ends[name] = ends
			}
		}
	}
	for _, s := range c.Sets {
		n.sets[s.Name] = s.Addresses
	}
	return n
}

// endsOf are those of the host or the service that a match names; none where it names none.
func (n Named) endsOf(m settings.Match) []match.End {
	if m.Service != "" {
		return n.ends[m.Service]
	}
	return n.ends[m.Host]
}

// Set implements nf.Names.
func (n Named) Set(name string) *model.AddressSet { return n.sets[name] }

// Kept implements nf.Names: for what finds chains nothing is kept.
func (Named) Kept(string) any { return nil }

// names are what settings of functions mean by names.
type names struct {
	Named
	kept func(function string) any
}

// Kept implements nf.Names.
func (n names) Kept(function string) any { return n.kept(function) }

var _ nf.Names = names{}
