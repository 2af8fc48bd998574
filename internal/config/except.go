package config

import (
	"cmp"
	"net/netip"
	"slices"
)

const mostExcepts = 64

// finishExcepts leaves out what another prefix of the list holds: each costs a new session a
// comparison.
func (d *draft) finishExcepts() {
	if n := len(d.excepts); n > mostExcepts {
		d.faults.add(d.excepts[mostExcepts].line, "outbound.except: there are %d, at most %d are allowed", n, mostExcepts)
		return
	}
	sorted := slices.Clone(d.excepts)
	slices.SortStableFunc(sorted, func(a, b at[netip.Prefix]) int { return cmp.Compare(a.value.Bits(), b.value.Bits()) })
	for _, e := range sorted {
		held := func(wider netip.Prefix) bool { return wider.Contains(e.value.Addr()) }
		if !slices.ContainsFunc(d.config.Outbound.Except, held) {
			d.config.Outbound.Except = append(d.config.Outbound.Except, e.value)
		}
	}
}
