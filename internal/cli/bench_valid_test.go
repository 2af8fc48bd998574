package cli

import (
	"math"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/method"
	"github.com/realmgate/realmgate/internal/lab/bench/scenario"
)

// failed is a result of which no trial is valid.
func failed(dut, unit, gate, why string) bench.Result {
	return bench.Result{
		DUT: dut, Metric: "rate", Unit: unit, Summary: method.Summarise(nil), Gates: map[string]bench.Gate{gate: {Failed: 1, Detail: why}},
		Trials: []bench.Trial{{Round: 1, Value: 2, Invalid: gate + ": " + why}},
	}
}

func TestNothingValid(t *testing.T) {
	good := measured().Results[0]
	control := good
	control.DUT = "null"
	none := bench.Result{DUT: "realmgate", Summary: method.Summarise([]float64{math.NaN()})}
	stolen := failed("realmgate", bench.PerSecond, "steal", "31 % of a CPU's time was stolen")
	for _, c := range []struct {
		name, want string
		results    []bench.Result
		series     []bench.Series
	}{
		{"a valid one", "", []bench.Result{stolen, good}, nil},
		{"a lower bound", "", []bench.Result{failed("external", bench.PerSecond, "generator", "the tester reaches only 2/s")}, nil},
		{"curves alone", "", nil, []bench.Series{{}}},
		{"none", "no trial was valid; the first: realmgate, steal: 31 % of a CPU's time was stolen", []bench.Result{stolen, none}, nil},
		{"the device's own before the machine's", "no trial was valid; the first: nftables, complete: 49 of 49963 frames lost",
			[]bench.Result{failed("null", bench.PerSecond, "complete", "1 of 2"), stolen, failed("nftables", bench.PerSecond, "complete", "49 of 49963 frames lost")}, nil},
		{"the control alone", "no trial was valid; the first: realmgate, steal: 31 % of a CPU's time was stolen", []bench.Result{control, stolen}, nil},
		{"no device", "nothing was measured: route is left out: it translates nothing", []bench.Result{control}, nil},
	} {
		r := bench.Report{Control: "null", Results: c.results, Series: c.series, Notes: []string{"not RFC compliant", "route is left out: it translates nothing"}}
		got := ""
		if err := nothingValid(r); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// What is asked for with flags, and what is taken where nothing is said.
func TestBenchDefaults(t *testing.T) {
	options := func(name string, f benchFlags, given ...string) bench.Options {
		changed := func(flag string) bool { return strings.Contains(strings.Join(given, " "), flag) }
		f.benchMethod = *defaultMethod()
		s, o, err := f.options(name, changed)
		if err == nil {
			err = f.apply(s, &o, changed)
		}
		if err == nil {
			err = f.placeExternal(s, &o, changed)
		}
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	box := benchFlags{external: []string{"a", "b"}, sessions: 7}
	for _, c := range []struct {
		name            string
		o               bench.Options
		sessions, round int
	}{
		{"most", options("nat44-establish", benchFlags{}), 1_000_000, 5},
		{"its own", options("targets", benchFlags{}), 20_000, 2},
		{"asked for", options("targets", benchFlags{sessions: 9, repeat: 1}, "sessions", "repeat"), 9, 1},
		{"a box", options("nat44-throughput", box), 50_000, 5},
		{"a box, asked for", options("nat44-throughput", box, "sessions"), 7, 5},
	} {
		if c.o.Sessions != c.sessions || c.o.Repeat != c.round {
			t.Errorf("%s: %d sessions, %d rounds, want %d, %d", c.name, c.o.Sessions, c.o.Repeat, c.sessions, c.round)
		}
	}
	for _, l := range listed(scenario.All(), nil).Scenarios {
		var f benchFlags
		if l.Name == "replay" {
			f.pcap = "some.pcap"
		}
		if o := options(l.Name, f); l.Sessions > 0 && (l.Sessions != o.Sessions || l.Rounds != o.Repeat) {
			t.Errorf("the list says %d sessions and %d rounds of %s, and it is %d and %d", l.Sessions, l.Rounds, l.Name, o.Sessions, o.Repeat)
		}
	}
}
