package nf

import (
	"encoding/binary"
	"math"
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/realmgate/realmgate/internal/model"
)

func setOf(prefixes ...string) *model.AddressSet {
	var ranges []model.AddressRange
	for _, p := range prefixes {
		ranges = append(ranges, model.RangeOf(netip.MustParsePrefix(p)))
	}
	return model.NewAddressSet(ranges)
}

// protectionOf has all functions, with the numbers 1 to 3.
func protectionOf(r Remote) []Step {
	return []Step{
		{Name: "allowlist", Number: 1, Function: Allowlist{r}},
		{Name: "blocklist", Number: 2, Function: Blocklist{}},
		{Name: "geofence", Number: 3, Function: Geofence{}},
	}
}

// Whatever chain a flow is for, and where there is none, the allowlist is stronger than
// the blocklist, and that is asked before the geofence; each direction has its own.
func TestProtectionComesFirst(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	const deny, dnat = 9, 10
	b.putPolicy(Policy{
		Protection: protectionOf(Remote{
			In: Addresses{
				Allowed: setOf("198.51.100.1/32", "198.51.100.9/32"), Blocked: setOf("198.51.100.0/30"),
				Fenced: setOf("198.51.100.0/24"),
			},
			Out: Addresses{Blocked: setOf("198.51.100.8/32")},
		}),
		Chains: []Chain{
			{Name: "tcp", Rules: []Rule{{Protocol: model.TCP, Ports: model.Ports{First: 80, Last: 80}}}, Steps: []Step{{Name: "deny", Number: deny, Function: denying{{}}}}},
			{Name: "icmp", Rules: []Rule{{Protocol: model.ICMP}}},
			{Name: "dnat", Dnat: true, Rules: []Rule{{}}, Steps: []Step{{Name: "dnat", Number: dnat, Function: fixed{goOn, false, false}}}},
		},
	})
	for _, c := range []struct {
		protocol model.Protocol
		out      bool
		remote   string
		decider  uint32 // 0: it passes
	}{
		{model.UDP, false, "203.0.113.1", 0},
		{model.UDP, false, "198.51.100.1", 0}, // on all three
		{model.UDP, false, "198.51.100.2", 2},
		{model.UDP, false, "198.51.100.9", 0},
		{model.UDP, false, "198.51.100.8", 3},
		{model.UDP, true, "198.51.100.8", 2},
		{model.UDP, true, "198.51.100.2", 0},
		{model.TCP, false, "203.0.113.1", deny},
		{model.TCP, false, "198.51.100.1", deny}, // the allowlist leaves the chain to say
		{model.TCP, false, "198.51.100.2", 2},
		{model.ICMP, false, "203.0.113.1", 0},
		{model.ICMP, false, "198.51.100.200", 3},
	} {
		p := probe(c.protocol, c.remote)
		if c.out {
			p.Direction, p.Source, p.Destination = model.Out, p.Destination, p.Source
		}
		got := b.classify(p.sent())
		want := said{verdict: accept}
		if c.decider > 0 {
			want = said{verdict: drop, function: c.decider}
		}
		if got != want {
			t.Errorf("%v: %+v, want %+v", c, got, want)
		}
		if sent := b.ask(b.Made.XDP.Dnat, p.sent()); (sent.verdict == drop) != (c.decider == 2 || c.decider == 3) {
			t.Errorf("%v: the chain that says where flows go: %+v", c, sent)
		}
	}
}

// A chain's functions that see every packet are asked about the further ones, without the
// protection before them.
func TestProtectionLeavesEveryPacketToTheChain(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.putPolicy(Policy{
		Protection: protectionOf(Remote{}),
		Chains:     []Chain{{Name: "a", Rules: []Rule{{}}, Steps: []Step{{Name: "mirror", Number: 9, Function: fixed{toUser, true, false}}}}},
	})
	first := b.classify(probe(model.UDP, "203.0.113.1").sent())
	if first.verdict != accept || first.packets == 0 {
		t.Fatalf("the first packet: %+v", first)
	}
	if next := b.ask(b.Made.XDP.Chains[first.packets-1], probe(model.UDP, "203.0.113.1").sent()); next.verdict != accept {
		t.Errorf("the next packet: %+v", next)
	}
	if mirrored, protected := b.count(9).Seen, b.count(1).Seen; mirrored != 2 || protected != 1 {
		t.Errorf("the mirror saw %d packets and the protection %d", mirrored, protected)
	}
}

// More ranges than the kernel's table takes are told before anything is loaded.
func TestProtectionThatIsTooLarge(t *testing.T) {
	t.Parallel()
	ranges := make([]model.AddressRange, mostRanges/2+1)
	for i := range ranges {
		ranges[i] = model.AddressRange{First: uint32(2 * i), Last: uint32(2 * i)}
	}
	policy := Policy{Protection: protectionOf(Remote{In: Addresses{Blocked: model.NewAddressSet(ranges)}})}
	if err := Check(policy); err == nil || !strings.Contains(err.Error(), "allowlist, blocklist and geofence together") {
		t.Errorf("%v", err)
	}
}

// A jump goes on in another chain without the protection, which was asked.
func TestProtectionIsAskedOnce(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.putPolicy(Policy{
		Protection: protectionOf(Remote{}),
		Chains: []Chain{
			{Name: "a", Rules: []Rule{{}}, Steps: []Step{{Name: "a/jump", Number: 8, Function: fixed{jump, false, false}, Jumps: []int{1}}}},
			{Name: "b", Rules: []Rule{{}}, Steps: []Step{{Name: "b/deny", Number: 9, Function: denying{{}}}}},
		},
	})
	if got := b.classify(probe(model.UDP, "203.0.113.1").sent()); got.function != 9 {
		t.Errorf("%+v, want it dropped by function 9", got)
	}
	for number, want := range map[uint32]uint64{1: 1, 2: 1, 3: 1, 8: 1, 9: 1} {
		if n := b.count(number).Seen; n != want {
			t.Errorf("function %d was asked %d times, want %d", number, n, want)
		}
	}
}

// A trace has what the protection said first, and then the chain's functions, which are not
// asked where it dropped.
func TestTraceOfTheProtection(t *testing.T) {
	t.Parallel()
	b := newTraced(t)
	b.putPolicy(Policy{
		Protection: protectionOf(Remote{In: Addresses{Blocked: setOf("198.51.100.0/24")}}),
		Chains:     []Chain{{Name: "a", Rules: []Rule{{Protocol: model.UDP}}, Steps: []Step{{Name: "a/deny", Number: 8, Function: denying{}}}}},
	})
	for _, c := range []struct {
		protocol     model.Protocol
		source, want string
	}{
		{model.UDP, "198.51.100.7", "1 continue, 2 drop, drops"},
		{model.TCP, "198.51.100.7", "1 continue, 2 drop, drops"},
		{model.UDP, "203.0.113.7", "1 continue, 2 continue, 3 continue, a: 8 continue, passes"},
		{model.TCP, "203.0.113.7", "1 continue, 2 continue, 3 continue, passes"},
	} {
		if got := b.dry(b.Made.XDP.Classifier, probe(c.protocol, c.source)); got != c.want {
			t.Errorf("%v from %s: %q, want %q", c.protocol, c.source, got, c.want)
		}
	}
}

// What the kernel knows of an address is what the sets say, at their edges, too.
func TestProtectionIsWhatTheSetsSay(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	edge := rapid.SampledFrom([]uint32{0, 1, 2, 0xffff, 0x10000, 0x10001, 1 << 24, 1<<31 - 1, 1 << 31, math.MaxUint32 - 1, math.MaxUint32})
	ranges := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) model.AddressRange {
		from, to := edge.Draw(t, "a"), edge.Draw(t, "b")
		return model.AddressRange{First: min(from, to), Last: max(from, to)}
	}), 0, 5)
	set := rapid.Custom(func(t *rapid.T) *model.AddressSet { return model.NewAddressSet(ranges.Draw(t, "ranges")) })
	addresses := rapid.Custom(func(t *rapid.T) Addresses {
		return Addresses{set.Draw(t, "allowed"), set.Draw(t, "blocked"), set.Draw(t, "fenced")}
	})
	rapid.Check(t, func(rt *rapid.T) {
		r := Remote{addresses.Draw(rt, "in"), addresses.Draw(rt, "out")}
		b.putPolicy(Policy{Protection: protectionOf(r)})
		for range 20 {
			var four [4]byte
			binary.BigEndian.PutUint32(four[:], edge.Draw(rt, "address"))
			a := netip.AddrFrom4(four)
			p, of := probe(model.UDP, a.String()), r.In
			if rapid.Bool().Draw(rt, "out") {
				p.Direction, p.Source, p.Destination, of = model.Out, p.Destination, a, r.Out
			}
			want := uint32(0)
			switch {
			case of.Allowed.Contains(a):
			case of.Blocked.Contains(a):
				want = 2
			case of.Fenced.Contains(a):
				want = 3
			}
			if got := b.classify(p.sent()); got.function != want {
				rt.Fatalf("%s: function %d decided, want %d", a, got.function, want)
			}
		}
	})
}
