package gateway

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/guard/watch"
)

// What the configuration lets through is a watch, up to each bound; what a pattern may be
// is found out before anything changes.
func TestWatchesAreCompiledBeforeAnythingChanges(t *testing.T) {
	for watched, want := range map[string]string{
		"{name: a, file: /x, patterns: [sshd], hits: 1, within: 1s, ban: 1s}":          "",
		"{name: a, command: [/x, 1], patterns: [sshd], hits: 1000, within: 168h}":      "",
		"{name: a, file: /x, patterns: [" + strings.Repeat("sshd, ", 15) + "postfix]}": "",
		"{name: ssh, file: /x, patterns: [sshx]}":                                      "watches: ssh: pattern",
		"{name: ssh, file: /x, patterns: ['from <ADDRESS>']}":                          "watches: ssh: pattern",
		"{name: ssh, file: /x, patterns: [sshd, '^(<ADDRESS>']}":                       "watches: ssh: pattern",
	} {
		d := document(t, text+"watches: ["+watched+"]\n")
		_, viewErr := newView(d, nil, nothingPast, nil)
		for by, err := range map[string]error{"check": Check(d), "reload": viewErr} {
			if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
				t.Errorf("%s of %s: %v, want %q", by, watched, err, want)
			}
		}
	}
}

// Whatever configurations follow each other, just the watches of the last one run, each
// once, and only those that changed were stopped.
func TestFollowRunsJustWhatIsWanted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		runs := map[string]int{} // of watches that run, by name and hits
		launched := 0
		var s watches
		s.begin(func(w compiledWatch) *runningWatch {
			id := fmt.Sprint(w.Name, w.Hits)
			launched++
			runs[id]++
			for other, n := range runs {
				if other != id && n > 0 && strings.HasPrefix(other, w.Name) {
					t.Fatalf("%s begins while %s runs", id, other)
				}
			}
			r := &runningWatch{compiledWatch: w, ended: make(chan struct{})}
			r.stop = func() { runs[id]--; close(r.ended) }
			return r
		}, nil)
		var before []string
		for range rapid.IntRange(1, 5).Draw(t, "reloads") {
			var wanted []compiledWatch
			var ids []string
			for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d"}), rapid.ID[string]).Draw(t, "names") {
				hits := rapid.IntRange(1, 2).Draw(t, "hits")
				wanted = append(wanted, compiledWatch{Watch: config.Watch{Name: name, Hits: hits}})
				ids = append(ids, fmt.Sprint(name, hits))
			}
			launched = 0
			s.follow(wanted)
			fresh := 0
			for _, id := range ids {
				if runs[id] != 1 {
					t.Fatalf("%s runs %d times", id, runs[id])
				}
				if !slices.Contains(before, id) {
					fresh++
				}
			}
			total := 0
			for _, n := range runs {
				total += n
			}
			if total != len(ids) || launched != fresh || len(s.running) != len(ids) {
				t.Fatalf("%d watches run, %d of them since this reload: want %d and %d", total, launched, len(ids), fresh)
			}
			before = ids
		}
	})
}

// What was told of a watch that failed is over when one of its name reads its log, or when
// there is none any more, and not before.
func TestReloadEndsWhatWasToldOfWatches(t *testing.T) {
	var g Gateway
	told := recorder(t, &g)
	log := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wanted := func(files ...string) (list []compiledWatch) {
		c := &config.Config{}
		for i, file := range files {
			c.Watches = append(c.Watches, config.Watch{Name: []string{"a", "b"}[i], File: file, Patterns: []string{"sshd"}, Hits: 1, Within: time.Second})
		}
		list, err := watchesOf(c)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	launch := func(w compiledWatch) *runningWatch {
		ended := make(chan struct{})
		return &runningWatch{compiledWatch: w, ended: ended, stop: func() { close(ended) }}
	}
	look := func() { // each of them once at its log
		for _, r := range g.watches.running {
			ctx, stop := context.WithCancel(t.Context())
			r.log.Run(ctx, watch.Clock{Now: time.Now, After: func(time.Duration) <-chan time.Time { stop(); return nil }}, nil)
		}
		g.emitWatches()
	}
	g.watches.begin(launch, wanted(log+".none", log+".none"))
	look()
	g.emitWatchesGone(g.watches.follow(wanted(log)))
	g.emitWatches() // it has not looked yet
	if r := g.watches.running[0]; !r.failing {
		t.Error("what comes in the place of a watch that failed is well at once")
	}
	look()
	g.emitWatchesGone(g.watches.follow(wanted(log + ".none")))
	look()
	g.watches.end()
	var got []string
	for _, e := range told() {
		e, _, _ = strings.Cut(e, " "+log) // why it failed
		got = append(got, e)
	}
	want := []string{"watch_failed a", "watch_failed b", "watch_recovered b", "watch_recovered a", "watch_failed a", "stop"}
	if !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
}
