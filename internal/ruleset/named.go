package ruleset

import (
	"net/netip"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/model"
)

// Named is what conditions of chains and entries of the protection mean by names.
type Named struct {
	ends  map[model.Name][]end
	sets  map[string]*model.AddressSet
	lists map[string]*model.AddressSet
}

// end is where a host or a port of a service is.
type end struct {
	host     netip.Addr
	protocol model.Protocol
	port     uint16 // 0: every one
}

// NamedIn are those of a configuration; lists are the addresses of its lists, by name.
func NamedIn(c *config.Config, lists map[string]*model.AddressSet) Named {
	n := Named{map[model.Name][]end{}, map[string]*model.AddressSet{}, lists}
	for _, h := range c.Hosts {
		n.ends[h.Name] = []end{{host: h.Address}}
		for _, s := range h.Services {
			ends := make([]end, len(s.Ports))
			for i, p := range s.Ports {
				ends[i] = end{h.Address, p.Protocol, p.To}
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
func (n Named) endsOf(m config.Match) []end {
	if m.Service != "" {
		return n.ends[m.Service]
	}
	return n.ends[m.Host]
}
