package settings

import (
	"go.yaml.in/yaml/v3"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

// mostPorts bounds what one service, or a host's own name, opens.
const mostPorts = 1024

// portList is the ports that names open, each with its line.
type portList struct {
	ports []schema.At[model.Port]
	line  int // of the key, 0: it is not given
}

// portsKey is the ports of a service.
func portsKey(target *portList) schema.Key {
	k := schema.OpenPorts(false)
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
	k := schema.OpenPorts(true)
	return schema.Key{
		Name: "open", Kind: "word or list of: " + k.Name, Allowed: schema.Everything + ", or " + k.Allowed, Standard: "none: closed",
		Value: schema.OneOf(schema.Everything).Form(), Item: k.Form(),
		Read: func(faults *schema.Faults, node *yaml.Node, path string, line int) {
			target.line = line
			if node.Kind == yaml.ScalarNode && node.ShortTag() == "!!str" && node.Value == schema.Everything {
				target.ports = []schema.At[model.Port]{{Value: model.Port{}, Line: node.Line}}
				return
			}
			target.read(faults, node, path, schema.Everything+", or a list: each entry "+k.Want, k)
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
