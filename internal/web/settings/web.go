package settings

import (
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/schema"
)

const (
	// MostAddresses bounds web addresses.
	MostAddresses = 16

	key = "web.addresses"
)

// Web is where any number of names share an address, and how.
type Web struct {
	Addresses []netip.Addr  // IPv4, at most MostAddresses, each once; none: there is no web by name
	TTL       time.Duration // of web names' A records, 1s to 24h
	Hello     time.Duration // from a client's first data to the name in them, 500ms to 30s
	QUIC      bool
}

// Draft is `web`.
type Draft struct {
	web       *Web
	uses      schema.Uses
	addresses []schema.At[netip.Addr]
	line      int
}

// New makes a draft whose values go to web, and which says in uses what addresses are for.
func New(web *Web, uses schema.Uses) *Draft {
	*web = Web{TTL: 5 * time.Minute, Hello: 3 * time.Second}
	return &Draft{web: web, uses: uses}
}

// Keys implements schema.Draft.
func (d *Draft) Keys() []schema.Key {
	w := d.web
	return []schema.Key{schema.Noting(&d.line, schema.Section(
		"web",
		schema.Many("addresses", &d.addresses, schema.Address(), 1).Most(MostAddresses).Must(),
		schema.One("ttl", &w.TTL, schema.Duration(time.Second, 24*time.Hour)),
		schema.One("hello", &w.Hello, schema.Duration(500*time.Millisecond, 30*time.Second)),
		schema.One("quic", &w.QUIC, schema.Boolean()),
	))}
}

// Claim implements schema.Claimer.
func (d *Draft) Claim(faults *schema.Faults) {
	once := schema.Once[netip.Addr]{}
	for _, a := range d.addresses {
		if once.Take(faults, key, a.Value, a.Line) && d.uses.Take(faults, a.Value, schema.Use{Key: key, Line: a.Line}) {
			d.web.Addresses = append(d.web.Addresses, a.Value)
		}
	}
}

// Finish implements schema.Draft.
func (d *Draft) Finish(*schema.Faults) {}

// Given reports whether the file has the section, be its addresses right or wrong.
func (d *Draft) Given() bool { return d.line > 0 }

// QUIC reports whether web names are read from UDP, too.
func (d *Draft) QUIC() bool { return d.web.QUIC }
