package dut

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

var ipset = bench.Model{
	Name:  "ipset",
	About: "iptables (legacy) with addresses in sets (hash:ip) instead of a rule for each",
	Tools: []string{"iptables-legacy-restore", "ipset"},
	Bytes: netfilterBytes,
	New:   func() bench.Device { return &ipsetDevice{} },

	PassesInvalid: true,
}

type ipsetDevice struct{ netfilter }

func (d *ipsetDevice) Up(ctx context.Context, rig *bench.Rig, setup bench.Setup) error {
	if setup.DNAT != (trafficgen.DNAT{}) {
		return fmt.Errorf("%w: an ipset does not say what an address is translated to", bench.ErrUnsupported)
	}
	if err := d.prepare(rig, setup); err != nil {
		return err
	}
	return d.load(ctx)
}

func (d *ipsetDevice) load(ctx context.Context) error {
	if err := d.run(ctx, ipsetSets(d.setup), "ipset", "restore"); err != nil {
		return err
	}
	return d.run(ctx, iptablesText(iptablesRules(d.setup, true)), "iptables-legacy-restore")
}

// Load times ipset restore and the rules that look into the sets.
func (d *ipsetDevice) Load(ctx context.Context) (time.Duration, error) {
	if err := d.run(ctx, iptablesEmpty(iptablesRules(d.setup, true)), "iptables-legacy-restore"); err != nil {
		return 0, err
	}
	if err := d.run(ctx, "", "ipset", "destroy"); err != nil {
		return 0, err
	}
	return timed(func() error { return d.load(ctx) })
}

// Add adds an element to the set.
func (d *ipsetDevice) Add(ctx context.Context) (time.Duration, error) {
	address := d.setup.Deny.At(d.setup.Deny.Count).String()
	return timed(func() error { return d.run(ctx, "", "ipset", "add", "deny", address) })
}

// ipsetSets writes the sets for ipset restore, sized for what is in them, and one
// more.
func ipsetSets(s bench.Setup) string {
	var text strings.Builder
	for _, set := range []struct {
		name string
		trafficgen.Addresses
	}{
		{"deny", s.Deny},
		{"allow", trafficgen.Addresses{First: bench.Destinations.Addr(), Count: allowed(s)}},
	} {
		if set.Count == 0 {
			continue
		}
		size := max(64, set.Count)
		fmt.Fprintf(&text, "create %s hash:ip hashsize %d maxelem %d\n", set.name, size, size+1)
		for i := range set.Count {
			fmt.Fprintf(&text, "add %s %s\n", set.name, set.At(i))
		}
	}
	return text.String()
}

// allowed is how many destinations the setup allows, 0 where it allows all.
func allowed(s bench.Setup) int {
	if len(s.Allow.Selectors) == 0 {
		return 0
	}
	return s.Allow.Flows()
}
