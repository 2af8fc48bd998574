package config

import (
	"fmt"
	"net/netip"

	"go.yaml.in/yaml/v3"

	"github.com/realmgate/realmgate/internal/model"
)

// Chain is a row of network functions for the flows that it matches.
type Chain struct {
	Name      string
	Match     Match
	Functions []Function // in the order in which they are asked
	// Static: it has dnat, or jumps to a chain that has. It is asked about flows as they
	// come from outside, and Match.To are public addresses.
	Static bool
}

// Match says which flows a chain is for. Service is a host's; it stands for where
// flows from outside go, and leaves no other condition on that.
type Match struct {
	Direction model.Direction
	Condition
	Host, Service model.Name // at most one
}

// Condition is what flows have in common; zero fields match all.
type Condition struct {
	From, To netip.Prefix // of the first packet; private hosts by their own addresses
	Remote   netip.Prefix // of the end that is not a private host
	Protocol model.Protocol
	Ports    model.Ports // of the destination
}

// Function is a network function at its place in a chain.
type Function struct {
	Use           Use
	Name          string // unique in the chain
	Priority      int    // 0 to 65535: lower ones are asked first
	Before, After []string
	Fail          Fail
	Filter        Filter
	Meter         Meter
	Jump          Jump
	Dnat          Dnat
	Object        Object
}

// Filter drops what Deny matches and, unless Allow is empty, what none of Allow does.
type Filter struct{ Deny, Allow []Condition }

// Jump goes on in another chain with what When matches, and without it with all.
type Jump struct {
	Chain string
	When  []Condition
}

type chainDraft struct {
	chain                           Chain
	nameLine                        int
	fromLine, toLine, protocolLine  int
	portLine, hostLine, serviceLine int
	remoteLine, directionLine       int
	functions                       []*functionDraft
}

type functionDraft struct {
	function      Function
	nameLine      int
	before, after []at[string]
	line          int          // where it begins
	given         []at[string] // keys that not every function has
}

const (
	mostPriority    = 65535
	defaultPriority = 100
	mostFunctions   = 10 // of a chain: a program of the kernel uses 64 tables, and a filter has 6
)

func (c *chainDraft) keys() []key {
	m := &c.chain.Match
	return []key{
		oneAt("name", &c.chain.Name, &c.nameLine, label()).must(),
		section("match",
			oneAt("direction", &m.Direction, &c.directionLine, choice(model.In, model.Out, model.AnyDirection)),
			oneAt("from", &m.From, &c.fromLine, network()).otherwise("any"),
			oneAt("to", &m.To, &c.toLine, network()).otherwise("any"),
			oneAt("remote", &m.Remote, &c.remoteLine, network()).otherwise("any"),
			oneAt("protocol", &m.Protocol, &c.protocolLine, anyProtocol()),
			oneAt("port", &m.Ports, &c.portLine, portRange()),
			oneAt("host", &m.Host, &c.hostLine, domain()).otherwise("any"),
			oneAt("service", &m.Service, &c.serviceLine, domain()).otherwise("any"),
		),
		listOf("functions", &c.functions, (*functionDraft).keys),
	}
}

func (f *functionDraft) keys() []key {
	if f.function.Priority == 0 {
		f.function.Priority = defaultPriority
	}
	keys := []key{
		oneAt("use", &f.function.Use, &f.line, f.used(choice(UseFilter, UseDoSDenial, UseRateLimit, UseJump, UseDnat, UseMirror))).must(),
		oneAt("name", &f.function.Name, &f.nameLine, label()).otherwise("the word after `use`, or the file's name"),
		one("priority", &f.function.Priority, number(0, mostPriority)),
		many("before", &f.before, label(), 1),
		many("after", &f.after, label(), 1),
		one("fail", &f.function.Fail, choice(FailClosed, FailOpen)),
	}
	keys = append(keys, f.particular(
		conditions("deny", &f.function.Filter.Deny),
		conditions("allow", &f.function.Filter.Allow),
		one("chain", &f.function.Jump.Chain, label()).otherwise("none"),
		conditions("when", &f.function.Jump.When),
		one("to", &f.function.Dnat.To, address()).otherwise("none"),
		one("port", &f.function.Dnat.Port, port()).otherwise("the flow's own"),
		one("may", &f.function.Object.May, choice(MayRead, MayRewrite)),
	)...)
	return append(keys, f.meterKeys()...)
}

// conditions is a key with a list of conditions; one that is only an address or a
// prefix is of the remote end.
func conditions(name string, target *[]Condition) key {
	keys := func(c *Condition) []key {
		return []key{
			one("from", &c.From, network()).otherwise("any"), one("to", &c.To, network()).otherwise("any"),
			one("remote", &c.Remote, network()).otherwise("any"),
			one("protocol", &c.Protocol, anyProtocol()), one("port", &c.Ports, portRange()),
		}
	}
	const want = "a list: each entry an address, a prefix or a mapping"
	return key{
		name: name, kind: "list of sections", standard: "none", keys: keys(new(Condition)),
		read: func(faults *faultLog, node *yaml.Node, path string, _ int) {
			for i, item := range elements(faults, node, path, want, 1) {
				var c Condition
				full := fmt.Sprintf("%s[%d]", path, i)
				if item.Kind == yaml.ScalarNode {
					value, ok := readValue(faults, item, full, network())
					if c.Remote = value; !ok {
						continue
					}
				} else {
					readSection(faults, item, full, item.Line, keys(&c))
					c.check(faults, full, item.Line)
				}
				*target = append(*target, c)
			}
		},
	}
}

func (c Condition) check(faults *faultLog, path string, line int) {
	if c.Ports != (model.Ports{}) && c.Protocol == model.ICMP {
		faults.add(line, "%s: ICMP has no ports: remove port, or name another protocol", path)
	}
	if c.Remote.IsValid() && (c.From.IsValid() || c.To.IsValid()) {
		faults.add(line, "%s: remote is one of from and to: give it, or those", path)
	}
}

// finishChains checks what chains say about each other and about hosts.
func (d *draft) finishChains() {
	taken := map[string]int{}
	for i, c := range d.chains {
		path := fmt.Sprintf("chains[%d]", i)
		if first, twice := taken[c.chain.Name]; twice && c.nameLine > 0 {
			d.faults.add(c.nameLine, "%s.name: %s is already used at line %d", path, c.chain.Name, first)
		}
		taken[c.chain.Name] = c.nameLine
		d.finishMatch(c, path+".match")
		if len(c.functions) > mostFunctions {
			d.faults.add(c.nameLine, "%s.functions: there are %d, a chain has at most %d", path, len(c.functions), mostFunctions)
		}
		for j, f := range c.functions {
			f.check(d.faults, fmt.Sprintf("%s.functions[%d]", path, j))
		}
		c.chain.Functions = orderFunctions(d.faults, c.functions, path, c.nameLine)
		d.config.Chains = append(d.config.Chains, c.chain)
	}
	d.checkJumps()
	d.finishDnat()
}

func (d *draft) finishMatch(c *chainDraft, path string) {
	m := &c.chain.Match
	line := max(c.portLine, c.remoteLine, c.nameLine, 1)
	m.check(d.faults, path, line)
	if c.hostLine > 0 && c.serviceLine > 0 {
		d.faults.add(c.hostLine, "%s: a service has a host: give host or service", path)
	}
	if c.serviceLine > 0 {
		for name, given := range map[string]int{"to": c.toLine, "remote": c.remoteLine, "protocol": c.protocolLine, "port": c.portLine} {
			if given > 0 {
				d.faults.add(given, "%s.%s: the service says it already", path, name)
			}
		}
		if c.directionLine > 0 && m.Direction != model.In {
			d.faults.add(c.directionLine, "%s.direction: flows to a service come in", path)
		}
		m.Direction = model.In
	}
	if c.hostLine > 0 && (m.Direction != model.Out && c.toLine > 0 || m.Direction != model.In && c.fromLine > 0) {
		d.faults.add(c.hostLine, "%s.host: it is the end that from or to names already", path)
	}
	for _, named := range []struct {
		key  string
		name model.Name
		line int
	}{{"host", m.Host, c.hostLine}, {"service", m.Service, c.serviceLine}} {
		if named.line > 0 && !d.names(named.name, named.key == "service") {
			d.faults.add(named.line, "%s.%s: there is no %s %s under hosts", path, named.key, named.key, named.name)
		}
	}
}

// names reports whether there is such a host, or service.
func (d *draft) names(name model.Name, service bool) bool {
	for _, h := range d.hosts {
		if !service && h.host.Name == name {
			return true
		}
		for _, s := range h.services {
			if service && s.service.Name == name {
				return true
			}
		}
	}
	return false
}
