package api

import (
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// What is known of a host of the web.
const (
	WebUnknown = "unknown" // a port of it has not been asked yet, or has never answered
	WebAsked   = "asked"   // it has answered on all of its ports
	WebDown    = "down"    // a port did not answer the last time: what is known is of before
)

// WebHost is a host of the web, and what its TCP can: the least of its ports.
type WebHost struct {
	Host        string       `json:"host" table:"HOST"`
	Inside      netip.Addr   `json:"inside" table:"INSIDE"`
	Address     netip.Addr   `json:"address,omitzero" table:"ADDRESS"` // of the web
	Ports       []model.Port `json:"ports" table:"PORTS"`              // of its web names, from outside to the host
	State       string       `json:"state" table:"STATE"`              // unknown, asked or down
	MSS         uint16       `json:"mss" table:">MSS"`                 // octets; it and what follows is 0 and false while unknown
	Scale       bool         `json:"scale" table:"SCALE"`              // of windows
	SACK        bool         `json:"sack" table:"SACK"`
	Timestamps  bool         `json:"timestamps" table:"TIMESTAMPS"`
	Asked       time.Time    `json:"asked,omitzero" table:"ASKED"`    // when; left out: not yet
	Certificate []string     `json:"certificate" table:"CERTIFICATE"` // names that its certificates cover, at most 16
	Left        int          `json:"certificate_more,omitempty"`      // more of them
}

// WebHosts lists the hosts of the web.
var WebHosts = Listing{
	Name:  "web",
	Short: "List the hosts of the web, what they can, and at which web address each is",
	Long: `List the hosts that have web names: at which web address each is, what its TCP
can, and which names its certificates cover. The gateway asks each host, by a
connection of its own to each port, when it starts or reloads and every ten
minutes. A web address promises its clients what all of its hosts can. Hosts whose
certificates cover each other's names are at different web addresses, as far as
there are enough.`,
	Example: `  realmgate web
  realmgate web --address 198.18.0.80`,
	Row: WebHost{}, Key: []string{"host"},
}

// MatchWebHost reports whether h is let through: by its addresses or its name, and by one port as MatchBinding.
func (f Filter) MatchWebHost(h WebHost) bool {
	return f.name(h.Host) && f.address(h.Inside, h.Address) && f.ports(h.Ports)
}
