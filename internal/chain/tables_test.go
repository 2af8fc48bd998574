package chain

import (
	"cmp"
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/realmgate/realmgate/internal/model"
)

// find looks a flow up as bpf/include/rules.h does.
func (t *tables) find(f Flow) (classifierRulesFound, bool) {
	at := func(ranges []classifierRulesRange, value uint32) classifierRulesRange {
		i, exact := slices.BinarySearchFunc(ranges, value, func(r classifierRulesRange, v uint32) int { return cmp.Compare(r.First, v) })
		if !exact {
			i--
		}
		return ranges[i]
	}
	service := uint32(f.Direction)<<24 | uint32(f.Protocol)<<16
	if f.Protocol != model.ICMP {
		service |= uint32(f.Port)
	}
	ranges := [3]classifierRulesRange{at(t.sources, number(f.Source)), at(t.destinations, number(f.Destination)), at(t.services, service)}
	best, found := classifierRulesFound{}, false
	for i, s := range t.shapes {
		if ranges[0].Shapes&ranges[1].Shapes&ranges[2].Shapes>>i&1 == 0 {
			continue
		}
		key := classifierRulesKey{}
		for d, where := range []struct {
			layer uint8
			into  *uint32
		}{{s.Source, &key.Source}, {s.Destination, &key.Destination}, {s.Service, &key.Service}} {
			if where.layer > 0 {
				*where.into = ranges[d].Condition[where.layer-1]
			}
		}
		if rule, ok := t.rules[key]; ok && (!found || rule.Rule < best.Rule) {
			best, found = rule, true
		}
	}
	return best, found
}

// drawn addresses, ports and prefixes are few, so that they meet often.
func drawAddress(t *rapid.T) netip.Addr {
	octet := rapid.SampledFrom([]byte{0, 10, 127, 128, 255})
	return netip.AddrFrom4([4]byte{octet.Draw(t, "a"), octet.Draw(t, "b"), octet.Draw(t, "c"), octet.Draw(t, "d")})
}

func drawPrefix(t *rapid.T) netip.Prefix {
	bits := rapid.SampledFrom([]int{-1, 0, 1, 8, 9, 24, 32}).Draw(t, "bits")
	if bits < 0 {
		return netip.Prefix{}
	}
	return netip.PrefixFrom(drawAddress(t), bits)
}

var somePorts = rapid.SampledFrom([]uint16{0, 1, 22, 80, 81, 1023, 65535})

func drawRule(t *rapid.T) Rule {
	r := Rule{
		Direction: rapid.SampledFrom([]model.Direction{model.AnyDirection, model.Out, model.In}).Draw(t, "direction"), Source: drawPrefix(t), Destination: drawPrefix(t),
		Protocol: rapid.SampledFrom([]model.Protocol{model.AnyProtocol, model.TCP, model.UDP, model.ICMP}).Draw(t, "protocol"),
	}
	if r.Protocol != model.ICMP && rapid.Bool().Draw(t, "has ports") {
		a, b := somePorts.Draw(t, "port"), somePorts.Draw(t, "port")
		r.Ports = model.Ports{First: min(a, b), Last: max(a, b)}
	}
	return r
}

func drawFlow(t *rapid.T) Flow {
	return Flow{
		Direction: rapid.SampledFrom([]model.Direction{model.Out, model.In}).Draw(t, "direction"), Source: drawAddress(t), Destination: drawAddress(t),
		Protocol: rapid.SampledFrom([]model.Protocol{model.TCP, model.UDP, model.ICMP}).Draw(t, "protocol"), Port: somePorts.Draw(t, "port"),
	}
}

// The tables find the rule that one finds who goes through all of them in order.
func TestTablesFindTheFirstRuleThatMatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := rapid.SliceOfN(rapid.Custom(drawRule), 0, 12).Draw(t, "rules")
		made, err := compile(rules)
		if err != nil {
			t.Skip(err) // a dozen rules may combine more than the tables hold
		}
		for _, f := range rapid.SliceOfN(rapid.Custom(drawFlow), 1, 50).Draw(t, "flows") {
			want := slices.IndexFunc(rules, func(r Rule) bool { return r.Matches(f) })
			got, found := made.find(f)
			if found != (want >= 0) || found && int(got.Rule) != want {
				t.Fatalf("%+v: rule %d, %v; want %d of %+v", f, got.Rule, found, want, rules)
			}
		}
	})
}
