package config

import (
	"fmt"
	"net/netip"

	"go.yaml.in/yaml/v3"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

// Chain is a row of network functions for the flows that it matches.
type Chain struct {
	Name      string
	Matches   []Match    // it is for what any of them matches
	Functions []Function // in the order in which they are asked
	// Static: it has dnat, or jumps to a chain that has. It is asked about flows as they
	// come from outside, and Match.To are public addresses.
	Static bool
}

// Condition is what flows have in common; zero fields match all.
type Condition struct {
	From, To netip.Prefix // of the first packet; private hosts by their own addresses
	Remote   netip.Prefix // of the end that is not a private host
	Set      string       // of addresses of that end
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
	Multipath     Multipath
	FirstBytes    FirstBytes
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
	chain     Chain
	nameLine  int
	matches   []*matchDraft
	functions []*functionDraft
}

type functionDraft struct {
	function      Function
	nameLine      int
	before, after []schema.At[string]
	line          int                 // where it begins
	given         []schema.At[string] // keys that not every function has
	sets          []setUse
	backends      []*backendDraft
}

const (
	mostPriority    = 65535
	defaultPriority = 100
	mostFunctions   = 10 // of a chain
)

func (c *chainDraft) keys() []schema.Key {
	return []schema.Key{
		schema.OneAt("name", &c.chain.Name, &c.nameLine, schema.Label()).Must(),
		matches("match", &c.matches),
		schema.ListOf("functions", &c.functions, (*functionDraft).keys),
	}
}

func (f *functionDraft) keys() []schema.Key {
	if f.function.Priority == 0 {
		f.function.Priority = defaultPriority
	}
	keys := []schema.Key{
		schema.OneAt("use", &f.function.Use, &f.line, f.used(schema.Choice(UseFilter, UseDoSDenial, UseRateLimit, UseJump, UseDnat, UseMultipath, UseFirstBytes, UseMirror))).Must(),
		schema.OneAt("name", &f.function.Name, &f.nameLine, schema.Label()).Otherwise("the word after `use`, or the file's name"),
		schema.One("priority", &f.function.Priority, schema.Number(0, mostPriority)),
		schema.Many("before", &f.before, schema.Label(), 1),
		schema.Many("after", &f.after, schema.Label(), 1),
		schema.One("fail", &f.function.Fail, schema.Choice(FailClosed, FailOpen)),
	}
	keys = append(keys, f.particular(
		conditions("deny", &f.function.Filter.Deny, &f.sets),
		conditions("allow", &f.function.Filter.Allow, &f.sets),
		schema.One("chain", &f.function.Jump.Chain, schema.Label()).Otherwise("none"),
		conditions("when", &f.function.Jump.When, &f.sets),
		schema.One("to", &f.function.Dnat.To, schema.Address()).Otherwise("none"),
		schema.One("port", &f.function.Dnat.Port, schema.Port()).Otherwise("the flow's own"),
		schema.ListOf("backends", &f.backends, (*backendDraft).keys),
		schema.Section("check", f.function.Multipath.Check.keys()...),
		signatures("deny_bytes", &f.function.FirstBytes.Deny),
		signatures("allow_bytes", &f.function.FirstBytes.Allow),
		schema.One("may", &f.function.Object.May, schema.Choice(MayRead, MayRewrite)),
	)...)
	return append(keys, f.meterKeys()...)
}

// conditions is a key with a list of conditions; one that is only an address or a
// prefix is of the remote end. The sets that they name go into sets.
func conditions(name string, target *[]Condition, sets *[]setUse) schema.Key {
	keys := func(c *Condition, setLine *int) []schema.Key {
		return []schema.Key{
			schema.One("from", &c.From, schema.Network()).Otherwise("any"), schema.One("to", &c.To, schema.Network()).Otherwise("any"),
			schema.One("remote", &c.Remote, schema.Network()).Otherwise("any"), schema.OneAt("set", &c.Set, setLine, schema.Label()).Otherwise("any"),
			schema.One("protocol", &c.Protocol, schema.AnyProtocol()), schema.One("port", &c.Ports, schema.PortRange()),
		}
	}
	const want = "a list: each entry an address, a prefix or a mapping"
	return schema.Key{
		Name: name, Kind: "list of sections", Standard: "none", Keys: keys(new(Condition), new(int)),
		Read: func(faults *schema.Faults, node *yaml.Node, path string, _ int) {
			for i, item := range schema.Elements(faults, node, path, want, 1) {
				var c Condition
				full := fmt.Sprintf("%s[%d]", path, i)
				if item.Kind == yaml.ScalarNode {
					value, ok := schema.ReadValue(faults, item, full, schema.Network())
					if c.Remote = value; !ok {
						continue
					}
				} else {
					setLine := 0
					schema.ReadSection(faults, item, full, item.Line, keys(&c, &setLine))
					c.check(faults, full, item.Line)
					if setLine > 0 {
						*sets = append(*sets, setUse{full + ".set", c.Set, setLine})
					}
				}
				*target = append(*target, c)
			}
		},
	}
}

func (c Condition) check(faults *schema.Faults, path string, line int) {
	if c.Ports != (model.Ports{}) && c.Protocol == model.ICMP {
		faults.Add(line, "%s: ICMP has no ports: remove port, or name another protocol", path)
	}
	if c.Remote.IsValid() && (c.From.IsValid() || c.To.IsValid()) {
		faults.Add(line, "%s: remote is one of from and to: give it, or those", path)
	}
	if c.Set != "" && (c.From.IsValid() || c.To.IsValid() || c.Remote.IsValid()) {
		faults.Add(line, "%s: a set is of the remote end: give it, or from, to and remote", path)
	}
}

// finishChains checks what chains say about each other and about hosts.
func (d *draft) finishChains() {
	taken, known := takenNames{}, d.named()
	for i, c := range d.chains {
		path := fmt.Sprintf("chains[%d]", i)
		taken.take(d.faults, path, c.chain.Name, c.nameLine)
		if c.chain.Name == ProtectionName {
			d.faults.Add(c.nameLine, "%s.name: %s is what is asked before all chains: take another name", path, ProtectionName)
		}
		for _, m := range c.matches {
			c.chain.Matches = append(c.chain.Matches, m.finish(d.faults, known, c.nameLine))
		}
		if len(c.matches) == 0 {
			c.chain.Matches = []Match{{}}
		}
		if len(c.functions) > mostFunctions {
			d.faults.Add(c.nameLine, "%s.functions: there are %d, a chain has at most %d", path, len(c.functions), mostFunctions)
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

// sets are all places that name a set.
func (c *chainDraft) sets() (list []setUse) {
	for _, m := range c.matches {
		if m.setLine > 0 {
			list = append(list, setUse{m.path + ".set", m.match.Set, m.setLine})
		}
	}
	for _, f := range c.functions {
		list = append(list, f.sets...)
	}
	return list
}
