package nf

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/realmgate/realmgate/internal/model"
)

// nodeAs is a node in the form that it was made from.
func nodeAs[T any](c classifierRulesNode) T { return *(*T)(unsafe.Pointer(&c)) }

// class finds the class of a value as rules_hold does.
func (list nodes) class(d classifierRulesDimension, value uint32) uint32 {
	ranges := func(n uint32) classifierRulesRangeNode { return nodeAs[classifierRulesRangeNode](list[n]) }
	low := d.Ranges + uint32(uint64(value)>>d.Shift)
	for ranges(low).Class[7] == inner {
		c := nodeAs[classifierRulesInnerNode](list[low])
		low = c.Nodes
		for _, last := range c.Last {
			if last < value {
				low++
			}
		}
	}
	if ranges(low).Class[7]&mark != 0 {
		c, reached := nodeAs[classifierRulesAlternatingNode](list[low]), 0
		for i := range mostAlternating - 1 {
			if c.Bounds[i/4]>>(i%4*16)&0xffff <= uint64(value)&(1<<d.Shift-1) {
				reached++
			}
		}
		return c.Class[reached%2] &^ mark
	}
	last := 7
	for ranges(low).First[last] > value {
		last--
	}
	return ranges(low).Class[last]
}

// find looks a flow up as bpf/include/rules.h does.
func (list nodes) find(f Flow) (best classifierRulesFound, found bool) {
	type held struct {
		masks      uint64
		conditions []uint32
	}
	hold := func(d classifierRulesDimension, value uint32) (h held) {
		at := list.class(d, value) << d.ClassShift
		node := nodeAs[[16]uint32](list[d.Classes+at>>6])
		within := node[at%64/4:][:4<<(d.ClassShift-4)]
		return held{uint64(within[0]) | uint64(within[1])<<32, append([]uint32{0}, within[2:]...)}
	}
	service := uint32(f.Direction)<<24 | uint32(f.Protocol)<<16
	if f.Protocol != model.ICMP {
		service |= uint32(f.Port)
	}
	head := nodeAs[classifierRulesHead](list[0])
	source, destination := hold(head.Source, model.AddressNumber(f.Source)), hold(head.Destination, model.AddressNumber(f.Destination))
	other := hold(head.Service, service)
	from := held{masks: ^uint64(0)}
	if list.asksSourcePorts() {
		value := uint32(0)
		if f.Protocol.HasPorts() {
			value = 1<<16 | uint32(f.SourcePort)
		}
		from = hold(nodeAs[classifierRulesDimensionNode](list[head.SourcePort]).Dimension, value)
	}
	for i := range head.Masks {
		if source.masks&destination.masks&other.masks&from.masks>>i&1 == 0 {
			continue
		}
		s := nodeAs[classifierRulesMaskNode](list[1+i/8]).Mask[i%8]
		key := ruleKey{source: source.conditions[s.Source], destination: destination.conditions[s.Destination], service: other.conditions[s.Service]}
		if list.asksSourcePorts() {
			key.sourcePort = from.conditions[s.SourcePort]
		}
		if rule, ok := list.rule(head, key.node()); ok && (!found || rule.Rule < best.Rule) {
			best, found = rule, true
		}
	}
	return best, found
}

func (list nodes) rule(head classifierRulesHead, key classifierRulesKey) (found classifierRulesFound, ok bool) {
	for _, place := range placesOf(key, head.HashMask) {
		c := nodeAs[classifierRulesRuleNode](list[head.Rules+place])
		for _, r := range c.Rule {
			if r.Key == key {
				return r.Found, true
			}
		}
		if c.Displaced == 0 {
			break
		}
	}
	return found, false
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

// drawSet draws a set of a few addresses, of many in a row, or none.
func drawSet(t *rapid.T) *model.AddressSet {
	ranges := []model.AddressRange{}
	for _, p := range rapid.SliceOfN(rapid.Custom(drawPrefix), 0, 6).Draw(t, "prefixes") {
		if p.IsValid() {
			ranges = append(ranges, model.RangeOf(p))
		}
	}
	first := rapid.Uint32Range(0, 1<<31).Draw(t, "first")
	gap := rapid.Uint32Range(2, 1<<20).Draw(t, "gap")
	for n := range rapid.Uint32Range(0, 300).Draw(t, "row") {
		ranges = append(ranges, model.AddressRange{First: first + n*gap, Last: first + n*gap})
	}
	return model.NewAddressSet(ranges)
}

func drawRule(sets []*model.AddressSet) *rapid.Generator[Rule] {
	return rapid.Custom(func(t *rapid.T) Rule {
		r := Rule{
			Direction: rapid.SampledFrom([]model.Direction{model.AnyDirection, model.Out, model.In}).Draw(t, "direction"), Source: drawPrefix(t), Destination: drawPrefix(t),
			Protocol: rapid.SampledFrom([]model.Protocol{model.AnyProtocol, model.TCP, model.UDP, model.ICMP}).Draw(t, "protocol"),
		}
		if r.Protocol != model.ICMP && rapid.Bool().Draw(t, "has ports") {
			a, b := somePorts.Draw(t, "port"), somePorts.Draw(t, "port")
			r.Ports = model.Ports{First: min(a, b), Last: max(a, b)}
		}
		if r.Protocol != model.ICMP && rapid.IntRange(0, 3).Draw(t, "has source ports") == 0 {
			a, b := somePorts.Draw(t, "source port"), somePorts.Draw(t, "source port")
			r.SourcePorts = model.Ports{First: min(a, b), Last: max(a, b)}
		}
		some := rapid.SampledFrom(append([]*model.AddressSet{nil, nil}, sets...))
		if set := some.Draw(t, "source set"); set != nil {
			r.Source, r.SourceSet = netip.Prefix{}, set
		}
		if set := some.Draw(t, "destination set"); set != nil {
			r.Destination, r.DestinationSet = netip.Prefix{}, set
		}
		return r
	})
}

// drawFlow draws a flow of drawn addresses, or of those where sets begin and end.
func drawFlow(sets []*model.AddressSet) *rapid.Generator[Flow] {
	return rapid.Custom(func(t *rapid.T) Flow {
		end := func() netip.Addr {
			some := rapid.SampledFrom(append([]*model.AddressSet{nil}, sets...)).Draw(t, "near")
			if some == nil || len(some.Ranges()) == 0 {
				return drawAddress(t)
			}
			r := rapid.SampledFrom(some.Ranges()).Draw(t, "range")
			n := rapid.SampledFrom([]uint32{r.First - 1, r.First, r.Last, r.Last + 1}).Draw(t, "bound")
			return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
		}
		return Flow{
			Direction: rapid.SampledFrom([]model.Direction{model.Out, model.In}).Draw(t, "direction"), Source: end(), Destination: end(),
			Protocol: rapid.SampledFrom([]model.Protocol{model.TCP, model.UDP, model.ICMP}).Draw(t, "protocol"), Port: somePorts.Draw(t, "port"),
			SourcePort: somePorts.Draw(t, "source port"),
		}
	})
}

// drawn draws rules and flows; a dozen rules may combine more than the tables hold.
func drawn(t *rapid.T) (rules []Rule, made nodes, flows []Flow) {
	sets := rapid.SliceOfN(rapid.Custom(drawSet), 0, 3).Draw(t, "sets")
	rules = rapid.SliceOfN(drawRule(sets), 0, 12).Draw(t, "rules")
	made, err := compile(rules)
	if err != nil {
		t.Skip(err)
	}
	return rules, made, rapid.SliceOfN(drawFlow(sets), 1, 50).Draw(t, "flows")
}

// The tables find the rule that one finds who goes through all of them in order.
func TestTablesFindTheFirstRuleThatMatches(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rules, made, flows := drawn(t)
		for _, f := range flows {
			want := slices.IndexFunc(rules, func(r Rule) bool { return r.Matches(f) })
			got, found := made.find(f)
			if found != (want >= 0) || found && int(got.Rule) != want {
				t.Fatalf("%+v: rule %d, %v; want %d of %+v", f, got.Rule, found, want, rules)
			}
		}
	})
}

// So does the kernel.
func TestProgramsFindTheFirstRuleThatMatches(t *testing.T) {
	t.Parallel()
	for seed := range 40 {
		generated := rapid.Custom(func(t *rapid.T) (all struct {
			rules []Rule
			made  nodes
			flows []Flow
		}) {
			all.rules, all.made, all.flows = drawn(t)
			return all
		}).Example(seed)
		w := newWalk(t, generated.made, generated.flows)
		for _, f := range generated.flows {
			want := slices.IndexFunc(generated.rules, func(r Rule) bool { return r.Matches(f) })
			if got := w.ask() - 1; got != want {
				t.Fatalf("%+v: rule %d, want %d of %+v", f, got, want, generated.rules)
			}
		}
	}
}

// kindOf is what a node of ranges is.
func kindOf(c classifierRulesNode) string {
	switch last := nodeAs[classifierRulesRangeNode](c).Class[perNode-1]; {
	case last == inner:
		return "inner"
	case last&mark != 0:
		return "alternating"
	}
	return "ranges"
}

// A set of a million has nodes of every kind: with scattered addresses, with many close
// together, and with prefixes; beside another, which some of these are in.
func TestProgramsFindAddressesOfALargeSet(t *testing.T) {
	t.Parallel()
	ranges := []model.AddressRange{}
	for i := range uint32(1_000_000) {
		n := i * 2654435761
		switch i % 4 {
		case 1:
			n = 10<<24 | i
		case 2:
			n = i << 8
		}
		ranges = append(ranges, model.AddressRange{First: n, Last: n | i%4/2*63})
	}
	set := model.NewAddressSet(ranges)
	others := make([]model.AddressRange, 200)
	for i := range others {
		others[i] = model.AddressRange{First: 10<<24 | uint32(i)*5003, Last: 10<<24 | uint32(i)*5003 + 700}
	}
	other := model.NewAddressSet(others)
	list := mustCompile(t, []Rule{{Direction: model.In, SourceSet: other}, {Direction: model.In, SourceSet: set}})
	head := nodeAs[classifierRulesHead](list[0])
	kinds := map[string]bool{}
	for i, c := range list[head.Source.Ranges:head.Source.Classes] {
		kind := kindOf(c)
		if i >= 1<<(32-head.Source.Shift) {
			kind += " below inner"
		}
		kinds[kind] = true
	}
	for _, want := range []string{"ranges", "alternating", "inner", "ranges below inner", "alternating below inner", "inner below inner"} {
		if !kinds[want] {
			t.Fatalf("of nodes there are only %v", slices.Collect(maps.Keys(kinds)))
		}
	}
	var flows []Flow
	for i := 0; i < len(set.Ranges()); i += len(set.Ranges()) / 5000 {
		r := set.Ranges()[i]
		for _, n := range []uint32{r.First - 1, r.First, r.Last, r.Last + 1} {
			flows = append(flows, Flow{Direction: model.In, Source: addressOf(n), Destination: addressOf(1), Protocol: model.TCP})
		}
	}
	w := newWalk(t, list, flows)
	for _, f := range flows {
		want := 0
		switch {
		case other.Contains(f.Source):
			want = 1
		case set.Contains(f.Source):
			want = 2
		}
		if got := w.ask(); got != want {
			t.Fatalf("%+v: rule %d, want %d", f, got, want)
		}
		if got, found := list.find(f); found != (want > 0) || found && int(got.Rule) != want-1 {
			t.Fatalf("%+v: in the tables rule %+v, %v; want %d", f, got, found, want)
		}
	}
}

// Who asks for no source port pays nothing for those that others may ask for: the programs are other ones, and there is no
// table of them.
func TestSourcePortsCostOnlyWhereTheyAreAskedFor(t *testing.T) {
	t.Parallel()
	without := mustCompile(t, []Rule{{Direction: model.In, Ports: model.Ports{First: 80, Last: 80}}})
	with := mustCompile(t, []Rule{{Direction: model.In, Ports: model.Ports{First: 80, Last: 80}}, {SourcePorts: model.Ports{First: 53, Last: 53}}})
	if without.asksSourcePorts() || !with.asksSourcePorts() {
		t.Errorf("asked for: %v and %v", without.asksSourcePorts(), with.asksSourcePorts())
	}
	spec, err := loadMatching()
	if err != nil {
		t.Fatal(err)
	}
	if plain, ports := len(spec.Programs["nf_matching"].Instructions), len(spec.Programs["nf_matching_ports"].Instructions); plain >= ports {
		t.Errorf("%d instructions without source ports, %d with them", plain, ports)
	}
	many := make([]Rule, mostSourcePorts+1)
	for i := range many {
		many[i].SourcePorts = model.Ports{First: uint16(i), Last: uint16(i + 1)}
	}
	if _, err := compile(many); err == nil || !strings.Contains(err.Error(), "more than 32767 different source ports") {
		t.Errorf("%d source ports: %v", len(many), err)
	}
}

// Flow is what rules are asked about.
type Flow struct {
	Direction           model.Direction // model.Out or model.In
	Source, Destination netip.Addr
	Protocol            model.Protocol
	Port                uint16 // of the destination
	SourcePort          uint16
}

// Matches reports whether the rule is for the flow.
func (r Rule) Matches(f Flow) bool {
	within := func(p netip.Prefix, s *model.AddressSet, a netip.Addr) bool {
		return (!p.IsValid() || p.Contains(a)) && (s == nil || s.Contains(a))
	}
	without := func(p model.Ports, port uint16) bool {
		return p != (model.Ports{}) && (!f.Protocol.HasPorts() || port < p.First || port > p.Last)
	}
	switch {
	case r.Direction != model.AnyDirection && r.Direction != f.Direction:
	case r.Protocol != model.AnyProtocol && r.Protocol != f.Protocol:
	case without(r.Ports, f.Port), without(r.SourcePorts, f.SourcePort):
	default:
		return within(r.Source, r.SourceSet, f.Source) && within(r.Destination, r.DestinationSet, f.Destination)
	}
	return false
}
