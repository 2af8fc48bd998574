package reproduce

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/demo"
	"github.com/realmgate/realmgate/internal/lab/oncpu"
)

// switchedAfter are switches in two seconds: voluntary ones of tasks, by their bucket.
func switchedAfter(voluntary map[int]uint64) oncpu.Switches {
	s := oncpu.Switches{Seconds: 2}
	for bucket, n := range voluntary {
		s.Voluntary[bucket] = n
	}
	s.Involuntary[3], s.Idle[5] = 2, 1_000_000 // idle ones are no task's
	return s
}

// switches is what the demo measured in two rounds.
func switches(idle, work [2]oncpu.Switches) Evidence {
	m := measuredChain(0)
	for i := range m.Rounds {
		m.Rounds[i] = demo.Round{Idle: demo.Usage{OnCPU: idle[i]}, Routing: demo.Usage{OnCPU: work[i]}, Chain: demo.Usage{OnCPU: work[i]}}
	}
	return Evidence{chaining.Name: ChainReport(m)}
}

func both(s oncpu.Switches) [2]oncpu.Switches { return [2]oncpu.Switches{s, s} }

func TestSwitchesAreJudged(t *testing.T) {
	t.Parallel()
	idle := switchedAfter(map[int]uint64{2: 30, 11: 68})
	twice := switchedAfter(map[int]uint64{2: 80, 11: 118})
	check(t, "Figure 7.3", []judged{
		{"as the thesis has it", switches(both(idle), both(twice)), Yes},
		{"other times at work", switches(both(idle), both(switchedAfter(map[int]uint64{2: 118, 11: 80}))), Partly},
		{"no more at work", switches(both(idle), both(idle)), Partly},
		{"other times, and ten times as many", switches(both(switchedAfter(map[int]uint64{2: 98})), both(switchedAfter(map[int]uint64{1: 998}))), No},
		{"other times in one round", switches([2]oncpu.Switches{idle, switchedAfter(map[int]uint64{2: 68, 11: 30})}, both(twice)), Undecided},
		{"a report of before", Evidence{chaining.Name: ChainReport(measuredChain(0))}, Unknown},
	})
	v := finding(t, "Figure 7.3").Judged(switches(both(idle), both(twice)))
	for _, want := range []string{"most often after 2048–4095 µs", "2.0 (2.0–2.0) times", "100 (100–100) switches"} {
		if !strings.Contains(v.Realmgate, want) {
			t.Errorf("no %q in %q", want, v.Realmgate)
		}
	}
	if want := "32–63 µs at work"; !strings.Contains(v.Why, want) {
		t.Errorf("no %q in %q", want, v.Why)
	}
}

// The buckets that have any are drawn, idle and at work, where they were measured.
func TestSwitchesAreDrawn(t *testing.T) {
	t.Parallel()
	e := switches(both(switchedAfter(map[int]uint64{2: 30, 11: 68})), both(switchedAfter(map[int]uint64{2: 80, 11: 118})))
	var svg bytes.Buffer
	drawn := drawings[slices.IndexFunc(drawings, func(d drawing) bool { return d.name == "figure-7.3" })]
	if err := drawn.draw(&svg, e); err != nil || !drawn.there(e) {
		t.Fatal(err)
	}
	for _, want := range []string{">idle<", ">chains at work<", ">4–7<", ">2048–<", ">4095<", "2048–4095, chains at work: context switches 59.0 /s"} {
		if !strings.Contains(svg.String(), want) {
			t.Errorf("no %q in\n%s", want, svg.String())
		}
	}
	for _, empty := range []string{">2–3<", ">4096–<"} {
		if strings.Contains(svg.String(), empty) {
			t.Errorf("the empty bucket %q is drawn", empty)
		}
	}
	before := Evidence{chaining.Name: ChainReport(measuredChain(0))}
	for _, e := range []Evidence{e, before} {
		r := e[chaining.Name]
		told := strings.Contains(strings.Join(r.Notes, "\n"), "context switches")
		has := slices.ContainsFunc(r.Results, func(result bench.Result) bool { return result.Metric == voluntary })
		if told != switched(e) || has != told {
			t.Errorf("switches are measured: %t, in the notes: %t, in the results: %t", switched(e), told, has)
		}
	}
	for file, e := range map[bool]Evidence{true: e, false: before} {
		folder := t.TempDir()
		err := publish(folder, Papers(), e)
		if drawn, failed := filepath.Glob(filepath.Join(folder, "figure-7.3.svg")); err != nil || failed != nil || (len(drawn) == 1) != file {
			t.Errorf("%v, %v: drawn as %q, want %t", err, failed, drawn, file)
		}
	}
}
