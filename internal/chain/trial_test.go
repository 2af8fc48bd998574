package chain

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// A trace names the first chain that matches, and every function that was asked with what
// it said, through jumps, until one decides.
func TestTrace(t *testing.T) {
	t.Parallel()
	b := newTraced(t)
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
	other := probe(model.TCP, "203.0.113.1")
	other.Port = 81
	for name, c := range map[string]struct {
		probe Probe
		want  string
	}{
		"jump":                 {probe(model.TCP, "203.0.113.1"), "jumps: 1 fail, 2 continue, 3 jump 1, decides: 10 continue, 11 accept, passes"},
		"another port":         {other, "decides: 10 continue, 11 accept, passes"},
		"fails closed":         {probe(model.UDP, "192.0.2.1"), "closed: 20 fail, drops"},
		"a chain of nothing":   {probe(model.UDP, "198.51.100.1"), "empty: passes"},
		"a jump to its end":    {probe(model.ICMP, "203.0.113.7"), "ends: 30 jump 1, empty: passes"},
		"drop":                 {probe(model.UDP, "203.0.113.1"), "denies: 40 continue, 41 drop, drops"},
		"a jump to nothing":    {probe(model.UDP, "203.0.113.8"), "jumps to nothing: 50 jump 0, empty: passes"},
		"none is for it":       {probe(model.UDP, "10.9.9.9"), "passes"},
		"nothing is left over": {probe(model.UDP, "203.0.113.2"), "denies: 40 continue, 41 drop, drops"},
	} {
		if got := b.dry(b.made.XDP.Classifier, c.probe); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A dry run says what the meters in force would say now, and they stay as they are.
func TestDryRunUsesNothingUp(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	const hours = 3600
	for name, f := range map[string]Function{
		"rate-limit": RateLimit{Meter{Per: PerSource, Unit: Packets, Rate: 1.0 / hours, Burst: 90 * time.Minute, Entries: 4}},
		"a window":   DoSDenial{Meter{Per: PerSource, Unit: Packets, Rate: 1.0 / hours, Window: time.Hour, Entries: 4}},
	} {
		program, table := b.metered(f)
		judge := func(source, want string) {
			t.Helper()
			before := contentsOf(t, table)
			dry := b.looking(t)
			for range 3 {
				if got := dry.dry(dry.made.XDP.Classifier, probe(model.UDP, source)); got != want {
					t.Errorf("%s: %s: %q, want %q", name, source, got, want)
				}
			}
			if after := contentsOf(t, table); !slices.EqualFunc(before, after, slices.Equal) {
				t.Errorf("%s: %s changed the table", name, source)
			}
		}
		passes, drops := "it: 1 continue, passes", "it: 1 drop, drops"
		judge("203.0.113.1", passes)
		for range 3 {
			b.ask(program, probe(model.UDP, "203.0.113.1").sent())
		}
		if name == "a window" { // what brought too much is dropped in the next
			judge("203.0.113.1", passes)
			b.pass(table, 3*time.Hour)
		}
		judge("203.0.113.1", drops)
		judge("203.0.113.2", passes)
		if len(b.states.inForce) != 1 || b.states.next != nil {
			t.Errorf("%s: the dry runs left %d tables, and %d for the next generation", name, len(b.states.inForce), len(b.states.next))
		}
		b.put() // forgets
	}
}

// An object counts what it wants to, and in dry runs it begins with nothing.
func TestDryRunLeavesObjectsMaps(t *testing.T) {
	t.Parallel()
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
		dry := b.looking(t)
		for i, want := range []string{"accept, passes", "accept, passes", "accept, passes", "drop, drops"} {
			if got := dry.dry(dry.made.XDP.Classifier, probe(model.TCP, "203.0.113.1")); got != "it: 1 "+want {
				t.Errorf("packet %d of the dry runs: %q, want %q", i, got, want)
			}
		}
	}
	ask(accept)
	ask(drop)
	if len(b.states.inForce) != 1 || b.states.next != nil {
		t.Errorf("the dry runs left %d tables, and %d for the next generation", len(b.states.inForce), len(b.states.next))
	}
}

// Chains with dnat are asked for themselves, and say where to.
func TestTraceOfStatic(t *testing.T) {
	t.Parallel()
	b := newTraced(t)
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
	for source, want := range map[string][2]string{
		"203.0.113.1":  {"port: 1 continue, passes", "other: 6 drop, drops"},
		"203.0.113.17": {"address: 2 continue, passes", "other: 6 drop, drops"},
		"203.0.113.33": {"denied: 3 continue, 4 drop, drops", "other: 6 drop, drops"},
		"203.0.113.49": {"nowhere: 5 accept, passes", "other: 6 drop, drops"},
		"198.51.100.1": {"empty: passes", "empty: passes"},
		"192.0.2.1":    {"passes", "other: 6 drop, drops"},
	} {
		asked := probe(model.TCP, source)
		if got := [2]string{b.dry(b.made.XDP.Static, asked), b.dry(b.made.XDP.Classifier, asked)}; got != want {
			t.Errorf("%s: %q, want %q", source, got, want)
		}
	}
}
