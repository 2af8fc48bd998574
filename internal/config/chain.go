package config

import (
	"fmt"

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

type chainDraft struct {
	chain     Chain
	nameLine  int
	matches   []*matchDraft
	functions []*functionDraft
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
		functionsKey("functions", &c.functions),
	}
}

// finishChains checks what chains say about each other and about hosts.
func (d *draft) finishChains() {
	taken, known := schema.Names{}, d.named()
	for i, c := range d.chains {
		path := fmt.Sprintf("chains[%d]", i)
		taken.Take(d.faults, path, c.chain.Name, c.nameLine)
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
		for _, f := range c.functions {
			f.finish()
		}
		c.chain.Functions = orderFunctions(d.faults, c.functions, path, c.nameLine)
		d.config.Chains = append(d.config.Chains, c.chain)
	}
	d.checkJumps()
	d.finishDnat()
}

// sets are all places that name a set.
func (c *chainDraft) sets() (list []schema.Named) {
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
