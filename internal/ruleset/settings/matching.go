package settings

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf/match"
	"github.com/realmgate/realmgate/internal/schema"
)

// Match says which flows a chain is for. Service is a host's; it stands for where
// flows from outside go, and leaves no other condition on that.
type Match struct {
	Direction model.Direction
	match.Condition
	Host, Service model.Name // at most one
}

type matchEntry struct {
	match                           Match
	path                            string
	fromLine, toLine, protocolLine  int
	portLine, hostLine, serviceLine int
	remoteLine, directionLine       int
	setLine, sourcePortLine         int
}

func (d *matchEntry) keys() []schema.Key {
	m := &d.match
	return []schema.Key{
		schema.OneAt("direction", &m.Direction, &d.directionLine, schema.Choice(model.In, model.Out, model.AnyDirection)),
		schema.OneAt("from", &m.From, &d.fromLine, schema.Network()).Otherwise("any"),
		schema.OneAt("to", &m.To, &d.toLine, schema.Network()).Otherwise("any"),
		schema.OneAt("remote", &m.Remote, &d.remoteLine, schema.Network()).Otherwise("any"),
		schema.OneAt("set", &m.Set, &d.setLine, schema.Label()).Otherwise("any"),
		schema.OneAt("protocol", &m.Protocol, &d.protocolLine, schema.AnyProtocol()),
		schema.OneAt("port", &m.Ports, &d.portLine, schema.PortRange()),
		schema.OneAt("source_port", &m.SourcePorts, &d.sourcePortLine, schema.PortRange()),
		schema.OneAt("host", &m.Host, &d.hostLine, schema.Domain()).Otherwise("any"),
		schema.OneAt("service", &m.Service, &d.serviceLine, schema.Pattern()).Otherwise("any"),
	}
}

// matches is a key with a match, or with a list of them.
func matches(name string, target *[]*matchEntry) schema.Key {
	return schema.Key{
		Name: name, Kind: "section or list of sections", Keys: new(matchEntry).keys(),
		Read: func(faults *schema.Faults, node *yaml.Node, path string, line int) {
			read := func(node *yaml.Node, path string, line int) {
				m := &matchEntry{path: path}
				*target = append(*target, m)
				schema.ReadSection(faults, node, path, line, m.keys())
			}
			if node.Kind != yaml.SequenceNode {
				read(node, path, line)
				return
			}
			for i, item := range schema.Elements(faults, node, path, "a mapping, or a list of mappings", 1) {
				read(item, fmt.Sprintf("%s[%d]", path, i), item.Line)
			}
		},
	}
}

// finish checks what a match of a chain, which begins at that line, says about hosts.
func (d *matchEntry) finish(faults *schema.Faults, hosts Hosts, line int) Match {
	m, path := &d.match, d.path
	m.Check(faults, path, max(d.portLine, d.sourcePortLine, d.remoteLine, d.setLine, line, 1))
	if d.hostLine > 0 && d.serviceLine > 0 {
		faults.Add(d.hostLine, "%s: a service has a host: give host or service", path)
	}
	if d.serviceLine > 0 {
		for name, given := range map[string]int{"to": d.toLine, "remote": d.remoteLine, "protocol": d.protocolLine, "port": d.portLine} {
			if given > 0 {
				faults.Add(given, "%s.%s: the service says it already", path, name)
			}
		}
		if d.directionLine > 0 && m.Direction != model.In {
			faults.Add(d.directionLine, "%s.direction: flows to a service come in", path)
		}
		if _, pings, _ := hosts.Named(m.Service); d.sourcePortLine > 0 && pings {
			faults.Add(d.sourcePortLine, "%s.source_port: none of what the service opens has ports", path)
		}
		m.Direction = model.In
	}
	if d.hostLine > 0 && (m.Direction != model.Out && d.toLine > 0 || m.Direction != model.In && d.fromLine > 0) {
		faults.Add(d.hostLine, "%s.host: it is the end that from or to names already", path)
	}
	for _, named := range []struct {
		key  string
		name model.Name
		line int
	}{{"host", m.Host, d.hostLine}, {"service", m.Service, d.serviceLine}} {
		service, _, known := hosts.Named(named.name)
		if named.line > 0 && (!known || service != (named.key == "service")) {
			faults.Add(named.line, "%s.%s: there is no %s %s under hosts", path, named.key, named.key, named.name)
		}
	}
	return *m
}
