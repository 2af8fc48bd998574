package dut

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

// rules are chains of a filter, which every new session asks: what is denied, or what
// alone may pass, a rule for each address or a set of all.
func (d *realmgateDevice) rules(s bench.Setup) string {
	var t chainText
	if s.Deny.Count > 0 {
		t.add("deny", "", addressesOf(s.Deny, s.Deny.Count), d.sets)
	}
	pass := addressesOf(s.Pass, s.Pass.Count)
	pass = append(pass, addressesOf(trafficgen.Addresses{First: bench.Destinations.Addr()}, allowed(s))...) // arranged by the compiler
	// A filter that allows has one rule more than it allows addresses: they are in several.
	for len(pass) > 0 {
		part := netip.PrefixFrom(pass[0], 17).Masked()
		n := slices.IndexFunc(pass, func(a netip.Addr) bool { return !part.Contains(a) })
		if n < 0 {
			n = len(pass)
		}
		t.add("allow", part.String(), pass[:n], d.sets)
		pass = pass[n:]
	}
	return t.String()
}

func addressesOf(a trafficgen.Addresses, count int) (list []netip.Addr) {
	for i := range count {
		list = append(list, a.At(i))
	}
	return list
}

// chainText gathers chains, and the sets that they name.
type chainText struct {
	chains, sets strings.Builder
	count        int
}

// add writes a chain of one filter for what goes to a prefix, "" for all.
func (t *chainText) add(what, to string, addresses []netip.Addr, inSet bool) {
	t.count++
	texts := make([]string, len(addresses))
	for i, a := range addresses {
		texts[i] = a.String()
	}
	// An address without more is that of a remote end, in both directions: two rules.
	rules := "{to: " + strings.Join(texts, "}, {to: ") + "}"
	if inSet {
		fmt.Fprintf(&t.sets, "- {name: set%d, addresses: [%s]}\n", t.count, strings.Join(texts, ", "))
		rules = fmt.Sprintf("{set: set%d}", t.count)
	}
	match := ""
	if to != "" {
		match = fmt.Sprintf("match: {to: %s}, ", to)
	}
	fmt.Fprintf(&t.chains, "- {name: chain%d, %sfunctions: [{use: filter, %s: [%s]}]}\n", t.count, match, what, rules)
}

func (t *chainText) String() string {
	text := ""
	if t.chains.Len() > 0 {
		text = "chains:\n" + t.chains.String()
	}
	if t.sets.Len() > 0 {
		text += "sets:\n" + t.sets.String()
	}
	return text
}

// Load implements bench.Loader by reloads: without any rule, and then with all.
func (d *realmgateDevice) Load(ctx context.Context) (time.Duration, error) {
	if _, err := d.reload(ctx, bench.Setup{}); err != nil {
		return 0, err
	}
	return d.reload(ctx, d.setup)
}

// Add implements bench.Loader. A filter has at most as many rules as a setup ever has:
// where that is reached the last one is exchanged.
func (d *realmgateDevice) Add(ctx context.Context) (time.Duration, error) {
	more := d.setup
	if more.Deny.Count < chainRules || d.sets {
		more.Deny.Count++
	} else {
		more.Deny.First = more.Deny.First.Next()
	}
	return d.reload(ctx, more)
}

// chainRules is how many rules a filter may have.
const chainRules = 1 << 16

// reload puts the rules of a setup into force, and returns how long that took.
func (d *realmgateDevice) reload(ctx context.Context, rules bench.Setup) (time.Duration, error) {
	if err := d.write(realmgateConfiguration(d.mode, d.setup, d.apart) + d.rules(rules)); err != nil {
		return 0, err
	}
	return timed(func() error {
		if _, err := d.client.ConfigEditor().Reload(ctx); err != nil {
			return fmt.Errorf("reload: %w", err)
		}
		return nil
	})
}

// ban bans what the setup asks for, for ever.
func (d *realmgateDevice) ban(ctx context.Context) error {
	if d.setup.Bans == 0 {
		return nil
	}
	if _, err := d.client.BanEditor().Add(ctx, client.BanRequest{Prefixes: banned(d.setup.Bans)}); err != nil {
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
