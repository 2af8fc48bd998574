package schema

import "github.com/realmgate/realmgate/internal/model"

// Ports are ports by protocol, on their way.
type Ports struct {
	Line     int // of one of its keys, 0: none is given
	tcp, udp []At[model.Ports]
}

// Keys are `tcp` and `udp`.
func (p *Ports) Keys() []Key {
	return []Key{
		Noting(&p.Line, Many("tcp", &p.tcp, PortRange(), 1)),
		Noting(&p.Line, Many("udp", &p.udp, PortRange(), 1)),
	}
}

// Of are those of a protocol.
func (p *Ports) Of(protocol model.Protocol) []At[model.Ports] {
	switch protocol {
	case model.TCP:
		return p.tcp
	case model.UDP:
		return p.udp
	}
	return nil
}

// Set is all of them.
func (p *Ports) Set() model.PortSet { return model.PortSet{TCP: Values(p.tcp), UDP: Values(p.udp)} }
