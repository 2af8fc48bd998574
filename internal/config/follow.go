package config

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/realmgate/realmgate/internal/schema"
)

// server is where a name server listens: an address, or an interface that has one.
type server struct {
	at     netip.AddrPort // with device the port alone counts
	device string
}

// servers is an address or an interface, and a port.
func servers() schema.Kind[server] {
	addresses, devices := schema.AddressPort(false), schema.Device()
	return schema.Kind[server]{
		Name: "address:port or interface:port", Allowed: addresses.Allowed, Tags: schema.TextTag,
		Want: addresses.Want + ", or an interface (eth0)",
		Show: func(s server) string {
			if s.device != "" {
				return fmt.Sprintf("%s:%d", s.device, s.at.Port())
			}
			return addresses.Show(s.at)
		},
		Parse: func(text string) (server, error) {
			name, port, given := strings.Cut(text, ":")
			if !strings.ContainsFunc(text, isLetter) || strings.Contains(port, ":") {
				found, err := addresses.Parse(text)
				return server{at: found}, err
			}
			if !given {
				port = "53"
			}
			found, err := addresses.Parse("192.0.2.1:" + port)
			if err == nil {
				name, err = devices.Parse(name)
			}
			return server{netip.AddrPortFrom(netip.IPv4Unspecified(), found.Port()), name}, err
		},
	}
}

// finishFollowed takes what of an interface's addresses the pool and the name server have: they are outbound, and
// followed as such.
func (d *draft) finishFollowed(ofPool []schema.At[string]) {
	c := &d.config
	for _, i := range ofPool {
		if !d.isFollowed(i.Value) {
			d.faults.Add(i.Line, "pool.addresses: the address of %s is not outbound: list it under outbound.addresses, too, so that services get ports of it", i.Value)
		}
	}
	c.Pool.Interfaces = schema.Values(ofPool)
	if name := c.DNS.Interface; name != "" && !d.isFollowed(name) {
		d.faults.Add(d.publicLine, "dns.public: %s is no interface whose address is outbound: list it under outbound.addresses, too, or give an address", name)
	}
}

// isFollowed reports whether the addresses of an interface are outbound; without the key that is the first public one.
func (d *draft) isFollowed(name string) bool {
	if len(d.outbound) == 0 {
		return len(d.public) > 0 && d.public[0].Value == name
	}
	return slices.Contains(d.config.Outbound.Interfaces, name)
}
