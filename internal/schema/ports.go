package schema

import (
	"errors"
	"fmt"
	"strings"

	"github.com/realmgate/realmgate/internal/model"
)

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

// Everything is what `open: all` says.
const Everything = "all"

// OpenPorts is one port that a name opens, or a range of them. all: it may be everything.
func OpenPorts(all bool) Kind[[]model.Port] {
	return Kind[[]model.Port]{
		Name: "protocol/port", Allowed: "as tcp/80, tcp/80:8080, udp/5000-5100 or icmp",
		Want: "a port (tcp/80, tcp/80:8080, udp/5000-5100, icmp)", Tags: TextTag,
		Show: func(ports []model.Port) string {
			first, last := ports[0], ports[len(ports)-1]
			if len(ports) > 1 {
				return fmt.Sprintf("%s-%d", first, last.Port)
			}
			return first.String()
		},
		Parse: func(text string) ([]model.Port, error) {
			protocol, _, found := strings.Cut(text, "/")
			switch {
			case text == Everything && !all:
				return nil, errors.New("only a host's own name can open all: see hosts[].open")
			case text == Everything, text == model.ICMP.String():
			case !found || protocol != model.TCP.String() && protocol != model.UDP.String():
				return nil, ErrNoHint
			}
			ports, err := model.ParsePorts(text)
			if err != nil { // the message has the text already
				return nil, errors.New(strings.TrimPrefix(err.Error(), fmt.Sprintf("port %q: ", text)))
			}
			return ports, nil
		},
	}
}
