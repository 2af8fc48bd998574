package api

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// Name is a service, and what its questions that may take an address came to since the daemon runs.
type Name struct {
	Service string       `json:"service" table:"SERVICE"`
	Host    string       `json:"host" table:"HOST"`
	Address netip.Addr   `json:"address,omitzero" table:"ADDRESS"` // that it has, if it has one: of the pool, or of the web
	Ports   []model.Port `json:"ports"`                            // that it opens, from outside to the host
	Asked   uint64       `json:"asked" table:">ASKED"`
	Lent    uint64       `json:"lent" table:">LENT"`
	Refused uint64       `json:"refused" table:">REFUSED"`
	Asker   netip.Addr   `json:"asker,omitzero" table:"LAST ASKER"`
	Last    time.Time    `json:"last,omitzero" table:"LAST"`         // when it asked
	Why     string       `json:"why,omitempty" table:"LAST REFUSAL"` // of whomever
}

// Names lists the services with the askers of their addresses.
var Names = Listing{
	Name:  "names",
	Short: "List what names were asked, lent and refused, and by whom",
	Long: `List the services, and what the questions for their addresses came to since the
daemon runs: how many there were, how many got an address, and how many got none.
The last asker is as a rule a resolver. Questions that no address is due to, such as
those for other types and for web names, are not counted here.`,
	Example: `  realmgate names
  realmgate names --host www.hosta.foo.example.`,
	Row: Name{}, Key: []string{"service", "address"},
}

// SortNames puts names of several lists into an order by service.
func SortNames(list []Name) []Name {
	slices.SortStableFunc(list, func(x, y Name) int { return cmp.Compare(x.Service, y.Service) })
	return list
}

// MatchName reports whether n is let through: by its address, its host or its name, and by one port as MatchBinding.
func (f Filter) MatchName(n Name) bool {
	return f.name(n.Host, n.Service) && f.address(n.Address) && f.ports(n.Ports)
}
