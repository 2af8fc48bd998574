package api

import (
	"net/netip"
	"time"
)

// Edge is another edge, and the link to it.
type Edge struct {
	Name    string     `json:"name" table:"NAME"`
	Zones   []string   `json:"zones" table:"ZONES"`                // that it speaks for
	State   string     `json:"state" table:"STATE"`                // up or down
	Since   time.Time  `json:"since,omitzero" table:"SINCE"`       // of that; left out: since the start
	Address netip.Addr `json:"address,omitzero" table:"ADDRESS"`   // the other end of the tunnel; left out: not known yet
	RTT     float64    `json:"rtt_ms,omitzero" table:">RTT MS"`    // of the last ping, ms
	MTU     int        `json:"mtu,omitzero" table:">MTU"`          // octets that a packet inside the tunnel has at most
	Pacts   int        `json:"pacts" table:">PACTS"`               // that stand
	Error   string     `json:"error,omitempty" table:"LAST ERROR"` // why it is down, or the last attempt failed
}

// Edges lists other edges.
var Edges = Listing{
	Name:  "edges",
	Short: "List other edges and the links to them",
	Long: `List the edges that the configuration names: which zones they speak for, whether
the link to each is up, how long a ping takes, how large a packet passes, and how
many pacts stand with it.`,
	Example: `  realmgate edges
  realmgate edges --host edge.b.example`,
	Row: Edge{}, Key: []string{"name"},
}

// Pact is what two edges have agreed on for a host inside and a name behind the other edge.
type Pact struct {
	Tag       string     `json:"tag" table:"TAG"`             // ours
	Edge      string     `json:"edge" table:"EDGE"`           // the other
	Host      netip.Addr `json:"host" table:"HOST"`           // inside
	Local     string     `json:"local" table:"LOCAL"`         // its name, as the other edge has it
	Remote    string     `json:"remote" table:"REMOTE"`       // behind the other edge
	Proxy     netip.Addr `json:"proxy" table:"PROXY"`         // the address that stands for it, to that host
	Direction string     `json:"direction" table:"DIRECTION"` // who may begin: out, in or both
	Services  []string   `json:"services" table:"SERVICES"`   // of the host, for who is behind the other edge
	Vouched   string     `json:"vouched"`                     // who vouches for the other edge
	Opened    time.Time  `json:"opened" table:"OPENED"`
	Used      time.Time  `json:"used" table:"USED"`   // by a question or a packet, a second late at most
	Until     time.Time  `json:"until" table:"UNTIL"` // its lease ends then, unless it is prolonged
}

// Pacts lists what is agreed with other edges.
var Pacts = Listing{
	Name:  "pacts",
	Short: "List what is agreed with other edges",
	Long: `List the pacts that stand with other edges. A host inside asks for a name behind
another edge, or the other way round; what both edges agree on is a pact. To the
host an address of edges.proxy stands for the name.`,
	Example: `  realmgate pacts
  realmgate pacts --address 10.0.0.100`,
	Row: Pact{}, Key: []string{"tag"},
}

// MatchEdge reports whether e is let through: by its name or its address.
func (f Filter) MatchEdge(e Edge) bool { return f.name(e.Name) && f.address(e.Address) }

// MatchPact reports whether p is let through: by its names or its addresses.
func (f Filter) MatchPact(p Pact) bool {
	return (f.name(p.Local) || f.name(p.Remote)) && f.address(p.Host, p.Proxy)
}
