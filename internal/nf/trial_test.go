package nf

import (
	"net/netip"
	"testing"

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
		if got := b.dry(b.Made.XDP.Classifier, c.probe); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Dnat chains are asked for themselves.
func TestTraceOfDnat(t *testing.T) {
	t.Parallel()
	b := newTraced(t)
	dnat := func(name, from string, s ...Step) Chain {
		return Chain{Name: name, Dnat: true, Rules: []Rule{{Source: netip.MustParsePrefix(from)}}, Steps: s}
	}
	chains := []Chain{
		dnat("port", "203.0.113.0/28", Step{Number: 1, Function: fixed{goOn, false, false}}),
		dnat("address", "203.0.113.16/28", Step{Number: 2, Function: fixed{goOn, false, false}}),
		dnat("denied", "203.0.113.32/28", Step{Number: 3, Function: fixed{goOn, false, false}}, Step{Number: 4, Function: fixed{drop, false, false}}),
		dnat("nowhere", "203.0.113.48/28", steps(5, fixed{accept, false, false})...),
		{Name: "empty", Rules: []Rule{{Source: netip.MustParsePrefix("198.51.100.0/24")}}},
		dnat("empty", "198.51.100.0/24"),
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
		if got := [2]string{b.dry(b.Made.XDP.Dnat, asked), b.dry(b.Made.XDP.Classifier, asked)}; got != want {
			t.Errorf("%s: %q, want %q", source, got, want)
		}
	}
}
