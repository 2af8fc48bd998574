package gateway

import (
	"net/netip"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/guard/lists"
	"github.com/realmgate/realmgate/internal/model"
)

// named is what conditions of chains and entries of the protection mean by names.
type named struct {
	ends  map[model.Name][]end
	sets  map[string]*model.AddressSet
	lists lists.Contents
}

// end is where a host or a port of a service is.
type end struct {
	host     netip.Addr
	protocol model.Protocol
	port     uint16 // 0: every one
}

func namedIn(c *config.Config, lists lists.Contents) named {
	n := named{map[model.Name][]end{}, map[string]*model.AddressSet{}, lists}
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
func (n named) endsOf(m config.Match) []end {
	if m.Service != "" {
		return n.ends[m.Service]
	}
	return n.ends[m.Host]
}
