package settings

import (
	"fmt"
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

// Chain is a row of network functions for the flows that it matches.
type Chain struct {
	Name      string
	Matches   []Match    // it is for what any of them matches
	Functions []Function // in the order in which they are asked
	// Dnat: it has dnat, or jumps to a chain that has. It is asked about flows as they
	// come from outside, and Match.To are public addresses.
	Dnat bool
}

type chainEntry struct {
	schema.Begun
	chain     Chain
	nameLine  int
	matches   []*matchEntry
	functions []*functionEntry
}

const (
	mostPriority    = 65535
	defaultPriority = 100
	mostFunctions   = 10 // of a chain
)

func (c *chainEntry) keys() []schema.Key {
	return []schema.Key{
		schema.OneAt("name", &c.chain.Name, &c.nameLine, schema.Label()).Must(),
		matches("match", &c.matches),
		functionsKey("functions", &c.functions),
	}
}

// Hosts are the machines of the private realm.
type Hosts interface {
	// Named says what a name stands for: a host or a service, and of a service whether it opens nothing but pings.
	Named(name model.Name) (service, pings, known bool)
	Has(netip.Addr) bool
}

// NameServer is the one outside; Port is where it listens.
type NameServer interface{ Port() uint16 }

// Outbound is the addresses that hosts share; they may be those of interfaces.
type Outbound interface{ Follows() bool }

// Interfaces are the machine's: where it is Single, there is nobody inside.
type Interfaces interface{ Single() bool }

// ChainsDraft is `chains`.
type ChainsDraft struct {
	chains   *[]Chain
	uses     schema.Uses
	hosts    Hosts
	server   NameServer
	outbound Outbound
	machine  Interfaces
	entries  []*chainEntry
}

// NewChains makes a draft whose values go to chains. uses are what addresses are for.
func NewChains(chains *[]Chain, uses schema.Uses, hosts Hosts, server NameServer, outbound Outbound, machine Interfaces) *ChainsDraft {
	return &ChainsDraft{chains: chains, uses: uses, hosts: hosts, server: server, outbound: outbound, machine: machine}
}

// Keys implements schema.Draft.
func (d *ChainsDraft) Keys() []schema.Key {
	return []schema.Key{schema.ListOf("chains", &d.entries, (*chainEntry).keys)}
}

// Finish implements schema.Draft: it checks what chains say about each other and about hosts.
func (d *ChainsDraft) Finish(faults *schema.Faults) {
	taken := schema.Names{}
	for i, c := range d.entries {
		path := fmt.Sprintf("chains[%d]", i)
		taken.Take(faults, path, c.chain.Name, c.nameLine)
		if c.chain.Name == model.ProtectionName {
			faults.Add(c.nameLine, "%s.name: %s is what is asked before all chains: take another name", path, model.ProtectionName)
		}
		for _, m := range c.matches {
			if d.machine.Single() {
				m.finishSingle(faults)
			}
			c.chain.Matches = append(c.chain.Matches, m.finish(faults, d.hosts, c.Line))
		}
		if len(c.matches) == 0 {
			c.chain.Matches = []Match{{}}
		}
		if len(c.functions) > mostFunctions {
			faults.Add(c.Line, "%s.functions: there are %d, a chain has at most %d", path, len(c.functions), mostFunctions)
		}
		for _, f := range c.functions {
			f.finish()
			if d.machine.Single() {
				f.finishSingle()
			}
		}
		c.chain.Functions = orderFunctions(faults, c.functions, path, c.Line)
		*d.chains = append(*d.chains, c.chain)
	}
	d.checkJumps(faults)
	if !d.machine.Single() {
		d.finishDnat(faults)
	}
}

// Sets are all places that name a set.
func (d *ChainsDraft) Sets() (list []schema.Named) {
	for _, c := range d.entries {
		list = append(list, c.sets()...)
	}
	return list
}

// EachPort calls each for those that chains send on.
func (d *ChainsDraft) EachPort(protocol model.Protocol, each func(used model.Ports, whose string, args ...any)) {
	for _, c := range d.entries {
		for _, m := range c.matches {
			if m.portLine > 0 && m.match.Protocol == protocol && d.sends(c, map[string]bool{}) {
				each(m.match.Ports, "chain %s sends port %s on, line %d", c.chain.Name, m.match.Ports, m.portLine)
			}
		}
	}
}

// sets are all places that name a set.
func (c *chainEntry) sets() (list []schema.Named) {
	for _, m := range c.matches {
		if m.setLine > 0 {
			list = append(list, schema.Named{Path: m.path + ".set", Name: m.match.Set, Line: m.setLine})
		}
	}
	for _, f := range c.functions {
		list = append(list, f.sets()...)
	}
	return list
}
