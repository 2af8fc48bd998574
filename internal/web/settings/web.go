package settings

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/schema"
)

// MostAddresses bounds web addresses.
const MostAddresses = 16

// Web is where any number of names share an address, and how.
type Web struct {
	Addresses  []netip.Addr  // IPv4, at most MostAddresses, each once; none, and no Interfaces: there is no web by name
	Interfaces []string      // whose outbound addresses are of the web, too
	TTL        time.Duration // of web names' A records, 1s to 24h
	Hello      time.Duration // from a client's first data to the name in them, 500ms to 30s
	QUIC       bool
}

// Interfaces are those of the gateway, as the file lists them.
type Interfaces interface{ Private(name string) bool }

// Outbound says of which interfaces the addresses are outbound; they may be those of interfaces alone.
type Outbound interface {
	Follows() bool
	Followed(name string) bool
}

// Draft is `web`.
type Draft struct {
	web        *Web
	uses       schema.Uses
	interfaces Interfaces
	outbound   Outbound
	addresses  schema.Externals
	followed   []schema.At[string]
	line       int
	names      names
}

// New makes a draft whose values go to web, and which says in uses what addresses are for.
func New(web *Web, uses schema.Uses, interfaces Interfaces, outbound Outbound) *Draft {
	*web = Web{TTL: 5 * time.Minute, Hello: 3 * time.Second}
	return &Draft{web: web, uses: uses, interfaces: interfaces, outbound: outbound, names: names{ports: map[uint32]bool{}}}
}

// Keys implements schema.Draft.
func (d *Draft) Keys() []schema.Key {
	w := d.web
	return []schema.Key{schema.Noting(&d.line, schema.Section(
		"web",
		d.addresses.Key("addresses", schema.WebAddresses, MostAddresses, 1).Must(),
		schema.One("ttl", &w.TTL, schema.Duration(time.Second, 24*time.Hour)),
		schema.One("hello", &w.Hello, schema.Duration(500*time.Millisecond, 30*time.Second)),
		schema.One("quic", &w.QUIC, schema.Boolean()),
	))}
}

// Claim implements schema.Claimer.
func (d *Draft) Claim(faults *schema.Faults) {
	d.web.Addresses, d.followed = d.addresses.Claim(faults, d.uses, d.interfaces.Private)
	d.web.Interfaces = schema.Values(d.followed)
}

// Finish implements schema.Draft. What else an address of the web may be for, it is by its ports, as an outbound one.
func (d *Draft) Finish(faults *schema.Faults) {
	for _, i := range d.followed {
		if !d.outbound.Followed(i.Value) {
			faults.Add(i.Line, "%s: the address of %s is not outbound: list it under outbound.addresses, too, so that the gateway keeps its other ports", schema.WebAddresses, i.Value)
		}
	}
	if d.outbound.Follows() {
		return // which addresses those are is known when the gateway starts
	}
	for _, a := range d.web.Addresses {
		if _, is := d.uses.As(a, schema.OutboundAddresses); is {
			continue
		}
		for _, other := range []string{schema.PoolAddresses, schema.DNSPublic} {
			if _, is := d.uses.As(a, other); is {
				here, _ := d.uses.As(a, schema.WebAddresses)
				faults.Add(here.Line, "%s", d.web.WhyApart(a, other))
			}
		}
	}
}

// WhyApart says why an address that is not outbound is not of the web and for what another key says.
func (*Web) WhyApart(a netip.Addr, key string) string {
	return fmt.Sprintf("%s: %s is of %s, too: list it under outbound.addresses as well, so that the web has no more than its ports", schema.WebAddresses, a, key)
}
