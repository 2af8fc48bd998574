package settings

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

// mostPorts bounds what one service, or a host's own name, opens.
const mostPorts = 1024

// everything is what `open: all` says.
const everything = "all"

// portList is the ports that names open, each with its line.
type portList struct {
	ports []schema.At[model.Port]
	line  int // of the key, 0: it is not given
}

// openPort is one port, or a range of them.
func openPort(all bool) schema.Kind[[]model.Port] {
	return schema.Kind[[]model.Port]{
		Name: "protocol/port", Allowed: "as tcp/80, tcp/80:8080, udp/5000-5100 or icmp",
		Want: "a port (tcp/80, tcp/80:8080, udp/5000-5100, icmp)", Tags: schema.TextTag,
		Parse: func(text string) ([]model.Port, error) {
			protocol, _, found := strings.Cut(text, "/")
			switch {
			case text == everything && !all:
				return nil, errors.New("only a host's own name can open all: see hosts[].open")
			case text == everything, text == model.ICMP.String():
			case !found || protocol != model.TCP.String() && protocol != model.UDP.String():
				return nil, schema.ErrNoHint
			}
			ports, err := model.ParsePorts(text)
			if err != nil { // the message has the text already
				return nil, errors.New(strings.TrimPrefix(err.Error(), fmt.Sprintf("port %q: ", text)))
			}
			return ports, nil
		},
	}
}

// portsKey is the ports of a service.
func portsKey(target *portList) schema.Key {
	k := openPort(false)
	return schema.Key{
		Name: "ports", Kind: "list of: " + k.Name, Allowed: k.Allowed, Standard: "none", Item: k.Form(),
		Read: func(faults *schema.Faults, node *yaml.Node, path string, line int) {
			target.line = line
			target.read(faults, node, path, "a list: each entry "+k.Want, k)
		},
	}
}

// openKey is the ports of a host's own name, or the word for everything.
func openKey(target *portList) schema.Key {
	k := openPort(true)
	return schema.Key{
		Name: "open", Kind: "word or list of: " + k.Name, Allowed: everything + ", or " + k.Allowed, Standard: "none: closed",
		Value: schema.OneOf(everything).Form(), Item: k.Form(),
		Read: func(faults *schema.Faults, node *yaml.Node, path string, line int) {
			target.line = line
			if node.Kind == yaml.ScalarNode && node.ShortTag() == "!!str" && node.Value == everything {
				target.ports = []schema.At[model.Port]{{Value: model.Port{}, Line: node.Line}}
				return
			}
			target.read(faults, node, path, everything+", or a list: each entry "+k.Want, k)
		},
	}
}

// read reads a list of ports, and refuses what is in it twice.
func (l *portList) read(faults *schema.Faults, node *yaml.Node, path, want string, k schema.Kind[[]model.Port]) {
	seen := map[uint32]schema.At[model.Port]{}
	items := schema.Elements(faults, node, path, want, 1)
	for _, item := range items {
		ports, ok := schema.ReadValue(faults, item, path, k)
		if !ok {
			continue
		}
		if ports[0] == (model.Port{}) && len(items) > 1 {
			faults.Add(item.Line, "%s: all says everything: give it alone", path)
			continue
		}
		if len(l.ports)+len(ports) > mostPorts {
			faults.Add(item.Line, "%s: up to this entry there are %d ports, at most %d are allowed", path, len(l.ports)+len(ports), mostPorts)
			return
		}
		for _, p := range ports {
			if before, twice := seen[p.Key()]; twice {
				faults.Add(item.Line, "%s: %s is already given at line %d, as %s", path, p, before.Line, before.Value)
				break // one error for each entry says enough
			}
			seen[p.Key()] = schema.At[model.Port]{Value: p, Line: item.Line}
			l.ports = append(l.ports, seen[p.Key()])
		}
	}
}
