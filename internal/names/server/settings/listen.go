package settings

import (
	"fmt"
	"net/netip"
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
	addresses, devices, ports := schema.AddressPort(false), schema.Device(), schema.Port()
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
			if !strings.ContainsFunc(text, schema.IsLetter) || strings.Contains(port, ":") {
				found, err := addresses.Parse(text)
				return server{at: found}, err
			}
			if !given {
				port = "53"
			}
			number, err := ports.Parse(port)
			if err == nil {
				name, err = devices.Parse(name)
			}
			return server{netip.AddrPortFrom(netip.IPv4Unspecified(), number), name}, err
		},
	}
}
