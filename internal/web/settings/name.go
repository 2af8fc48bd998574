package settings

import (
	"slices"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

// MostPorts bounds the different ports, of TCP and UDP together, at which web names are.
const MostPorts = 16

// names finds out which names are web names: those of which all ports are ones at which a name is read from the connection.
// A name that opens anything else has to lead there, too, and has one address.
type names struct {
	ports map[uint32]bool // that web names have, by model.Port.Key
	told  bool            // that there are too many
}

// IsName reports whether names that open ports are web names: as is said of them, or by the ports alone. All that are share
// the bound of their ports.
func (d *Draft) IsName(faults *schema.Faults, said schema.At[bool], ports []schema.At[model.Port], path string) bool {
	switch {
	case said.Line > 0 && !said.Value:
		return false
	case said.Line == 0 && !d.usual(ports):
		return false
	case said.Line > 0 && !d.may(faults, said, ports, path):
		return false
	}
	d.names.count(faults, ports, path)
	return true
}

// usual reports whether ports are of the web unless a service says otherwise.
func (d *Draft) usual(ports []schema.At[model.Port]) bool {
	return d.line > 0 && len(ports) > 0 && !slices.ContainsFunc(ports, func(p schema.At[model.Port]) bool {
		switch p.Value.Protocol {
		case model.TCP:
			return p.Value.Port != 80 && p.Value.Port != 443
		case model.UDP:
			return p.Value.Port != 443 || !d.web.QUIC
		}
		return true
	})
}

// may reports whether ports can be those of a web name, or says why not.
func (d *Draft) may(faults *schema.Faults, said schema.At[bool], ports []schema.At[model.Port], path string) bool {
	if d.line == 0 {
		faults.Add(said.Line, "%s.web: there is no web.addresses: give addresses for names of the web", path)
		return false
	}
	for _, p := range ports {
		switch p.Value.Protocol {
		case model.ICMP:
			faults.Add(p.Line, "%s: the service is web, and icmp has no names: open it by another name", path)
			return false
		case model.UDP:
			if !d.web.QUIC {
				faults.Add(p.Line, "%s: the service is web, and names are read from %s only with web.quic: true", path, p.Value)
				return false
			}
		}
	}
	return len(ports) > 0
}

// count bounds the ports of web names.
func (n *names) count(faults *schema.Faults, ports []schema.At[model.Port], path string) {
	for _, p := range ports {
		n.ports[p.Value.Key()] = true
		if len(n.ports) > MostPorts && !n.told {
			faults.Add(p.Line, "%s: %s/%d is one port of web names too many: at most %d different ones are allowed", path, p.Value.Protocol, p.Value.Port, MostPorts)
			n.told = true // one error says enough
		}
	}
}
