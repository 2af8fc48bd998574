package config

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/schema"
)

const mostExcepts = 64

// finishExcepts leaves out what another prefix of the list holds: each costs a new session a
// comparison.
func (d *draft) finishExcepts() {
	if n := len(d.excepts); n > mostExcepts {
		d.faults.Add(d.excepts[mostExcepts].Line, "outbound.except: there are %d, at most %d are allowed", n, mostExcepts)
		return
	}
	sorted := slices.Clone(d.excepts)
	slices.SortStableFunc(sorted, func(a, b schema.At[netip.Prefix]) int { return cmp.Compare(a.Value.Bits(), b.Value.Bits()) })
	for _, e := range sorted {
		held := func(wider netip.Prefix) bool { return wider.Contains(e.Value.Addr()) }
		if !slices.ContainsFunc(d.config.Outbound.Except, held) {
			d.config.Outbound.Except = append(d.config.Outbound.Except, e.Value)
		}
	}
}
