package chain

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/model"
)

// probe is the first packet of a flow from outside.
func probe(protocol model.Protocol, source string) Probe {
	return Probe{
		Flow: Flow{
			Direction: model.In, Source: netip.MustParseAddr(source), Destination: netip.MustParseAddr("10.0.0.1"), Protocol: protocol, Port: 80,
		},
		SourcePort: 40000, PublicPort: 80, Length: 100, Frame: make([]byte, 64),
	}
}

// A judgement names the first chain that matches, and every function that was asked with
// what it said, through jumps, until one decides.
func TestJudgement(t *testing.T) {
	b := newBed(t)
	open := steps(1, fixed{fail, false, false}, fixed{goOn, true, false}, fixed{jump + 1, false, false}, fixed{drop, false, false})
	open[0].FailOpen, open[2].Jumps = true, []int{3, 1}
	last := steps(30, fixed{jump + 1, false, false})
	last[0].Jumps = []int{1, 3}
	nowhere := steps(50, fixed{jump, false, false}, fixed{drop, false, false})
	nowhere[0].Jumps = []int{3}
	chains := []Chain{
		{Name: "jumps", Rules: []Rule{{Protocol: model.TCP, Ports: model.Ports{First: 80, Last: 80}}}, Steps: open},
		{Name: "decides", Rules: []Rule{{Protocol: model.TCP}}, Steps: steps(10, fixed{goOn, false, true}, fixed{accept, false, true}, fixed{drop, false, false})},
		{Name: "closed", Rules: []Rule{{Source: netip.MustParsePrefix("192.0.2.0/24")}}, Steps: steps(20, fixed{fail, false, false}, fixed{accept, false, false})},
		{Name: "empty", Rules: []Rule{{Source: netip.MustParsePrefix("198.51.100.0/24")}}},
		{Name: "ends", Rules: []Rule{{Source: netip.MustParsePrefix("203.0.113.7/32")}}, Steps: last},
		{Name: "jumps to nothing", Rules: []Rule{{Source: netip.MustParsePrefix("203.0.113.8/32")}}, Steps: nowhere},
		{Name: "denies", Rules: []Rule{{Source: netip.MustParsePrefix("203.0.113.0/24")}}, Steps: steps(40, fixed{goOn, false, false}, fixed{drop, false, false})},
	}
	b.put(chains...)
	trial, err := NewTrial(Policy{Chains: chains}, &b.states)
	if err != nil {
		t.Fatal(err)
	}
	defer trial.Close()
	other := probe(model.TCP, "203.0.113.1")
	other.Port = 81
	for name, c := range map[string]struct {
		probe Probe
		want  Judgement
	}{
		"jump": {probe(model.TCP, "203.0.113.1"), Judgement{0, []Opinion{
			{0, 0, FailsOpen, -1}, {0, 1, Continues, -1}, {0, 2, Jumps, 1}, {1, 0, Continues, -1}, {1, 1, Accepts, -1},
		}, true}},
		"another port":         {other, Judgement{1, []Opinion{{1, 0, Continues, -1}, {1, 1, Accepts, -1}}, true}},
		"fails closed":         {probe(model.UDP, "192.0.2.1"), Judgement{2, []Opinion{{2, 0, FailsClosed, -1}}, false}},
		"a chain of nothing":   {probe(model.UDP, "198.51.100.1"), Judgement{3, nil, true}},
		"a jump to its end":    {probe(model.ICMP, "203.0.113.7"), Judgement{4, []Opinion{{4, 0, Continues, -1}}, true}},
		"drop":                 {probe(model.UDP, "203.0.113.1"), Judgement{6, []Opinion{{6, 0, Continues, -1}, {6, 1, Drops, -1}}, false}},
		"a jump to nothing":    {probe(model.UDP, "203.0.113.8"), Judgement{5, []Opinion{{5, 0, Jumps, 3}}, true}},
		"none is for it":       {probe(model.UDP, "10.9.9.9"), Judgement{-1, nil, true}},
		"nothing is left over": {probe(model.UDP, "203.0.113.2"), Judgement{6, []Opinion{{6, 0, Continues, -1}, {6, 1, Drops, -1}}, false}},
	} {
		got, err := trial.Judge(c.probe)
		if err != nil || got.Chain != c.want.Chain || got.Passes != c.want.Passes || !slices.Equal(got.Opinions, c.want.Opinions) {
			t.Errorf("%s: %+v, want %+v; %v", name, got, c.want, err)
		}
	}
	if n := b.count(10); n.Seen != 0 {
		t.Errorf("a function in force counted %d packets that nobody sent", n.Seen)
	}
}

// contents are all bytes of a table.
func contentsOf(t *testing.T, table *ebpf.Map) (all [][]byte) {
	t.Helper()
	for n := range table.MaxEntries() {
		value, err := table.LookupBytes(n)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, value)
	}
	return all
}

// A trial says what the meters in force would say now, and they stay as they are.
func TestTrialChangesNothing(t *testing.T) {
	b := newBed(t)
	const hours = 3600
	for name, f := range map[string]Function{
		"rate-limit": RateLimit{Meter{Per: PerSource, Unit: Packets, Rate: 1.0 / hours, Burst: 90 * time.Minute, Entries: 4}},
		"a window":   DoSDenial{Meter{Per: PerSource, Unit: Packets, Rate: 1.0 / hours, Window: time.Hour, Entries: 4}},
	} {
		program, table := b.metered(f)
		chains := slices.Clone(b.policy.Chains)
		judge := func(source string, want bool) {
			t.Helper()
			before := contentsOf(t, table)
			trial, err := NewTrial(Policy{Chains: chains}, &b.states)
			if err != nil {
				t.Fatal(err)
			}
			defer trial.Close()
			for range 3 {
				if got, err := trial.Judge(probe(model.UDP, source)); err != nil || got.Passes != want {
					t.Errorf("%s: %s: %+v, want it to pass: %t; %v", name, source, got, want, err)
				}
			}
			if after := contentsOf(t, table); !slices.EqualFunc(before, after, slices.Equal) {
				t.Errorf("%s: %s changed the table", name, source)
			}
		}
		judge("203.0.113.1", true)
		for range 3 {
			b.ask(program, probe(model.UDP, "203.0.113.1").sent())
		}
		if name == "a window" { // what brought too much is dropped in the next
			judge("203.0.113.1", true)
			b.pass(table, 3*time.Hour)
		}
		judge("203.0.113.1", false)
		judge("203.0.113.2", true)
		if len(b.states.inForce) != 1 || b.states.next != nil {
			t.Errorf("%s: the trial left %d tables, and %d for the next generation", name, len(b.states.inForce), len(b.states.next))
		}
		b.put() // forgets
	}
}

// An object counts what it wants to, and a trial's begins with nothing.
func TestTrialLeavesObjectsMaps(t *testing.T) {
	b := newBed(t)
	it := Object{Code: compiled(t, source(counter, packetOfUser+"return all++ > 2 ? NF_DROP : NF_ACCEPT;"))}
	chains := []Chain{{Name: "it", Rules: []Rule{{}}, Steps: []Step{{Number: 1, Function: it}}}}
	b.put(chains...)
	ask := func(want classifierNfVerdict) {
		t.Helper()
		if got := b.classify(packetOf(1, 40)).verdict; got != want {
			t.Errorf("in force: %v, want %v", got, want)
		}
	}
	ask(accept)
	ask(accept)
	for range 2 {
		trial, err := NewTrial(Policy{Chains: chains}, &b.states)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []bool{true, true, true, false} {
			if j, err := trial.Judge(probe(model.TCP, "203.0.113.1")); err != nil || j.Passes != want {
				t.Errorf("packet %d of the trial: %+v, want it to pass: %t; %v", i, j, want, err)
			}
		}
		trial.Close()
	}
	ask(accept)
	ask(drop)
	if len(b.states.inForce) != 1 || b.states.next != nil {
		t.Errorf("the trial left %d tables, and %d for the next generation", len(b.states.inForce), len(b.states.next))
	}
}

// Chains with dnat are asked for themselves, and say where to.
func TestJudgeStatic(t *testing.T) {
	b := newBed(t)
	to := func(a string, port uint16) Dnat { return Dnat{Address: netip.MustParseAddr(a), Port: port} }
	static := func(name, from string, s ...Step) Chain {
		return Chain{Name: name, Static: true, Rules: []Rule{{Source: netip.MustParsePrefix(from)}}, Steps: s}
	}
	chains := []Chain{
		static("port", "203.0.113.0/28", Step{Number: 1, Function: to("10.0.0.1", 8080)}),
		static("address", "203.0.113.16/28", Step{Number: 2, Function: to("10.0.0.2", 0)}),
		static("denied", "203.0.113.32/28", Step{Number: 3, Function: to("10.0.0.3", 0)}, Step{Number: 4, Function: fixed{drop, false, false}}),
		static("nowhere", "203.0.113.48/28", steps(5, fixed{accept, false, false})...),
		{Name: "empty", Rules: []Rule{{Source: netip.MustParsePrefix("198.51.100.0/24")}}},
		static("empty", "198.51.100.0/24"),
		{Name: "other", Rules: []Rule{{}}, Steps: steps(6, fixed{drop, false, false})},
	}
	b.put(chains...)
	trial, err := NewTrial(Policy{Chains: chains}, &b.states)
	if err != nil {
		t.Fatal(err)
	}
	defer trial.Close()
	for source, want := range map[string]struct {
		chain  int
		passes bool
		to     string
	}{
		"203.0.113.1": {0, true, "10.0.0.1:8080"}, "203.0.113.17": {1, true, "10.0.0.2:80"}, "203.0.113.33": {2, false, "invalid AddrPort"},
		"203.0.113.49": {3, true, "invalid AddrPort"}, "198.51.100.1": {5, true, "invalid AddrPort"}, "192.0.2.1": {-1, true, "invalid AddrPort"},
	} {
		j, to, err := trial.JudgeStatic(probe(model.TCP, source))
		if err != nil || j.Chain != want.chain || j.Passes != want.passes || to.String() != want.to {
			t.Errorf("%s: %+v to %s, want %+v; %v", source, j, to, want, err)
		}
		other := 6
		if source == "198.51.100.1" {
			other = 4
		}
		if j, err := trial.Judge(probe(model.TCP, source)); err != nil || j.Chain != other || j.Passes != (other == 4) {
			t.Errorf("%s by the other chains: %+v, %v", source, j, err)
		}
	}
}

// sent is the packet as if somebody had sent it.
func (p Probe) sent() classifierNfPacket {
	described := p.describe()
	described.Dry = 0
	return described
}
