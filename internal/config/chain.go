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
	before, after []at[string]
	line          int          // where it begins
	given         []at[string] // keys that not every function has
	sets          []setUse
	backends      []*backendDraft
}

const (
	mostPriority    = 65535
	defaultPriority = 100
	mostFunctions   = 10 // of a chain
)

func (c *chainDraft) keys() []key {
	return []key{
		oneAt("name", &c.chain.Name, &c.nameLine, label()).must(),
		matches("match", &c.matches),
		listOf("functions", &c.functions, (*functionDraft).keys),
	}
}

func (f *functionDraft) keys() []key {
	if f.function.Priority == 0 {
		f.function.Priority = defaultPriority
	}
	keys := []key{
		oneAt("use", &f.function.Use, &f.line, f.used(choice(UseFilter, UseDoSDenial, UseRateLimit, UseJump, UseDnat, UseMultipath, UseFirstBytes, UseMirror))).must(),
		oneAt("name", &f.function.Name, &f.nameLine, label()).otherwise("the word after `use`, or the file's name"),
		one("priority", &f.function.Priority, number(0, mostPriority)),
		many("before", &f.before, label(), 1),
		many("after", &f.after, label(), 1),
		one("fail", &f.function.Fail, choice(FailClosed, FailOpen)),
	}
	keys = append(keys, f.particular(
		conditions("deny", &f.function.Filter.Deny, &f.sets),
		conditions("allow", &f.function.Filter.Allow, &f.sets),
		one("chain", &f.function.Jump.Chain, label()).otherwise("none"),
		conditions("when", &f.function.Jump.When, &f.sets),
		one("to", &f.function.Dnat.To, address()).otherwise("none"),
		one("port", &f.function.Dnat.Port, port()).otherwise("the flow's own"),
		listOf("backends", &f.backends, (*backendDraft).keys),
		section("check", f.function.Multipath.Check.keys()...),
		signatures("deny_bytes", &f.function.FirstBytes.Deny),
		signatures("allow_bytes", &f.function.FirstBytes.Allow),
		one("may", &f.function.Object.May, choice(MayRead, MayRewrite)),
	)...)
	return append(keys, f.meterKeys()...)
}

// conditions is a key with a list of conditions; one that is only an address or a
// prefix is of the remote end. The sets that they name go into sets.
func conditions(name string, target *[]Condition, sets *[]setUse) key {
	keys := func(c *Condition, setLine *int) []key {
		return []key{
			one("from", &c.From, network()).otherwise("any"), one("to", &c.To, network()).otherwise("any"),
			one("remote", &c.Remote, network()).otherwise("any"), oneAt("set", &c.Set, setLine, label()).otherwise("any"),
			one("protocol", &c.Protocol, anyProtocol()), one("port", &c.Ports, portRange()),
		}
	}
	const want = "a list: each entry an address, a prefix or a mapping"
	return key{
		name: name, kind: "list of sections", standard: "none", keys: keys(new(Condition), new(int)),
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
					setLine := 0
					readSection(faults, item, full, item.Line, keys(&c, &setLine))
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

func (c Condition) check(faults *faultLog, path string, line int) {
	if c.Ports != (model.Ports{}) && c.Protocol == model.ICMP {
		faults.add(line, "%s: ICMP has no ports: remove port, or name another protocol", path)
	}
	if c.Remote.IsValid() && (c.From.IsValid() || c.To.IsValid()) {
		faults.add(line, "%s: remote is one of from and to: give it, or those", path)
	}
	if c.Set != "" && (c.From.IsValid() || c.To.IsValid() || c.Remote.IsValid()) {
		faults.add(line, "%s: a set is of the remote end: give it, or from, to and remote", path)
	}
}

// finishChains checks what chains say about each other and about hosts.
func (d *draft) finishChains() {
	taken, known := takenNames{}, d.named()
	for i, c := range d.chains {
		path := fmt.Sprintf("chains[%d]", i)
		taken.take(d.faults, path, c.chain.Name, c.nameLine)
		if c.chain.Name == ProtectionName {
			d.faults.add(c.nameLine, "%s.name: %s is what is asked before all chains: take another name", path, ProtectionName)
		}
		for _, m := range c.matches {
			c.chain.Matches = append(c.chain.Matches, m.finish(d.faults, known, c.nameLine))
		}
		if len(c.matches) == 0 {
			c.chain.Matches = []Match{{}}
		}
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
