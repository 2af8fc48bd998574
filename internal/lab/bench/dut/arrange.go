package dut

import (
	"fmt"
	"math/bits"
	"net/netip"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

// arranged is a rule of an arrangement of chains.
type arranged struct {
	chain string
	match netip.Prefix // of destinations; the zero value matches all
	next  string       // the chain it leads to; "" lets the packet pass
}

// arrange writes what the setup allows as rules, beginning in a built-in chain. A
// chain's rules stand together, in order.
func arrange(s bench.Setup, builtIn string) (rules []arranged) {
	root := builtIn
	if s.Allow.Nested() {
		root = "tree"
		rules = append(rules, arranged{chain: builtIn, next: root})
	}
	w := arranger{setup: s, rules: rules}
	w.walk(root, "tree", 0, 0, s.Allow.Flows())
	return w.rules
}

type arranger struct {
	setup bench.Setup
	rules []arranged
}

// walk writes a chain for the flows from first on, and then the chains below it,
// whose names begin with prefix.
func (w *arranger) walk(chain, prefix string, level, first, flows int) {
	selectors := w.setup.Allow.Selectors
	if level == len(selectors) {
		for i := range flows {
			w.rules = append(w.rules, arranged{chain: chain, match: destinations(first+i, 1)})
		}
		return
	}
	share := flows / selectors[level]
	for i := range selectors[level] {
		w.rules = append(w.rules, arranged{chain, destinations(first+i*share, share), fmt.Sprintf("%s_%d", prefix, i)})
	}
	for i := range selectors[level] {
		next := fmt.Sprintf("%s_%d", prefix, i)
		w.walk(next, next, level+1, first+i*share, share)
	}
}

// destinations is count destinations of the rig, a power of two.
func destinations(first, count int) netip.Prefix {
	address := trafficgen.Addresses{First: bench.Destinations.Addr()}.At(first)
	return netip.PrefixFrom(address, 32-bits.Len(uint(count))+1)
}

// chains lists the chains that rules lead to.
func chains(rules []arranged) (names []string) {
	for _, r := range rules {
		if r.next != "" {
			names = append(names, r.next)
		}
	}
	return names
}
