package dut

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

// chainConfiguration is a chain of a filter, which every new session asks.
func chainConfiguration(s bench.Setup) string {
	if s.Deny.Count == 0 {
		return ""
	}
	denied := make([]string, s.Deny.Count)
	for i := range denied {
		denied[i] = s.Deny.At(i).String()
	}
	return fmt.Sprintf("chains:\n- {name: bench, functions: [{use: filter, deny: [%s]}]}\n", strings.Join(denied, ", "))
}

// ban bans what the setup asks for, for ever.
func (d *realmgateDevice) ban(ctx context.Context) error {
	if d.setup.Bans == 0 {
		return nil
	}
	if _, err := d.client.AddBans(ctx, client.BanRequest{Prefixes: banned(d.setup.Bans)}); err != nil {
		return fmt.Errorf("ban %d addresses: %w", d.setup.Bans, err)
	}
	return nil
}

// ours is where addresses of a rig are.
var ours = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("198.18.0.0/15")}

// banned spreads addresses evenly over all of IPv4, so that to look up any takes as many
// steps as to look up an attacker's.
func banned(count int) (list []netip.Prefix) {
	const golden = 2654435769 // 2^32 by the golden ratio: multiples lie evenly
	for n := 1; len(list) < count; n++ {
		a := trafficgen.Addresses{First: netip.IPv4Unspecified()}.At(int(uint32(n * golden)))
		own := slices.ContainsFunc(ours, func(p netip.Prefix) bool { return p.Contains(a) })
		if !own && a.IsGlobalUnicast() {
			list = append(list, netip.PrefixFrom(a, a.BitLen()))
		}
	}
	return list
}
