package config

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/realmgate/realmgate/internal/model"
)

// mostPorts bounds what one service, or a host's own name, opens.
const mostPorts = 1024

// everything is what `open: all` says.
const everything = "all"

// portList is the ports that names open, each with its line.
type portList struct {
	ports []at[model.Port]
	line  int // of the key, 0: it is not given
}

// openPort is one port, or a range of them.
func openPort(all bool) kind[[]model.Port] {
	return kind[[]model.Port]{
		name: "protocol/port", allowed: "as tcp/80, tcp/80:8080, udp/5000-5100 or icmp",
		want: "a port (tcp/80, tcp/80:8080, udp/5000-5100, icmp)", tags: textTag,
		parse: func(text string) ([]model.Port, error) {
			protocol, _, found := strings.Cut(text, "/")
			switch {
			case text == everything && !all:
				return nil, errors.New("only a host's own name can open all: see hosts[].open")
			case text == everything, text == model.ICMP.String():
			case !found || protocol != model.TCP.String() && protocol != model.UDP.String():
				return nil, errNoHint
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
func portsKey(target *portList) key {
	k := openPort(false)
	return key{
		name: "ports", kind: "list of: " + k.name, allowed: k.allowed, standard: "none",
		read: func(faults *faultLog, node *yaml.Node, path string, line int) {
			target.line = line
			target.read(faults, node, path, "a list: each entry "+k.want, k)
		},
	}
}

// openKey is the ports of a host's own name, or the word for everything.
func openKey(target *portList) key {
	k := openPort(true)
	return key{
		name: "open", kind: "word or list of: " + k.name, allowed: everything + ", or " + k.allowed, standard: "none: closed",
		read: func(faults *faultLog, node *yaml.Node, path string, line int) {
			target.line = line
			if node.Kind == yaml.ScalarNode && node.ShortTag() == "!!str" && node.Value == everything {
				target.ports = []at[model.Port]{{model.Port{}, node.Line}}
				return
			}
			target.read(faults, node, path, everything+", or a list: each entry "+k.want, k)
		},
	}
}

// read reads a list of ports, and refuses what is in it twice.
func (l *portList) read(faults *faultLog, node *yaml.Node, path, want string, k kind[[]model.Port]) {
	seen := map[uint32]at[model.Port]{}
	items := elements(faults, node, path, want, 1)
	for _, item := range items {
		ports, ok := readValue(faults, item, path, k)
		if !ok {
			continue
		}
		if ports[0] == (model.Port{}) && len(items) > 1 {
			faults.add(item.Line, "%s: all says everything: give it alone", path)
			continue
		}
		if len(l.ports)+len(ports) > mostPorts {
			faults.add(item.Line, "%s: up to this entry there are %d ports, at most %d are allowed", path, len(l.ports)+len(ports), mostPorts)
			return
		}
		for _, p := range ports {
			if before, twice := seen[p.Key()]; twice {
				faults.add(item.Line, "%s: %s is already given at line %d, as %s", path, p, before.line, before.value)
				break // one error for each entry says enough
			}
			seen[p.Key()] = at[model.Port]{p, item.Line}
			l.ports = append(l.ports, seen[p.Key()])
		}
	}
}
