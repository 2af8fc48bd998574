package jail

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

	"github.com/realmgate/realmgate/internal/events/event"
	"github.com/realmgate/realmgate/internal/guard/jail/settings"
)

// recorder is what was told.
type recorder []string

// Emit implements Events.
func (r *recorder) Emit(e event.Event) {
	switch e := e.(type) {
	case event.JailFailed:
		*r = append(*r, fmt.Sprintf("%s %s %s", e.Kind(), e.Jail, e.Error))
	case event.JailRecovered:
		*r = append(*r, fmt.Sprintf("%s %s", e.Kind(), e.Jail))
	}
}

// Whatever configurations follow each other, just the jails of the last one run, each
// once, and only those that changed were stopped.
func TestFollowRunsJustWhatIsWanted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		runs := map[string]int{} // of jails that run, by name and failures
		launched := 0
		s := New(Hooks{})
		s.begin(func(w Compiled) *started {
			id := fmt.Sprint(w.Name, w.MaxRetry)
			launched++
			runs[id]++
			for other, n := range runs {
				if other != id && n > 0 && strings.HasPrefix(other, w.Name) {
					t.Fatalf("%s begins while %s runs", id, other)
				}
			}
			r := &started{Compiled: w, ended: make(chan struct{})}
			r.stop = func() { runs[id]--; close(r.ended) }
			return r
		})
		var before []string
		for range rapid.IntRange(1, 5).Draw(t, "reloads") {
			var wanted []Compiled
			var ids []string
			for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d"}), rapid.ID[string]).Draw(t, "names") {
				failures := rapid.IntRange(1, 2).Draw(t, "failures")
				wanted = append(wanted, Compiled{Jail: settings.Jail{Name: name, MaxRetry: failures}})
				ids = append(ids, fmt.Sprint(name, failures))
			}
			launched = 0
			_ = s.follow(wanted)
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
				t.Fatalf("%d jails run, %d of them since this reload: want %d and %d", total, launched, len(ids), fresh)
			}
			before = ids
		}
	})
}

// What was told of a jail that failed is over when one of its name reads its log, or when
// there is none any more, and not before.
func TestReloadEndsWhatWasToldOfJails(t *testing.T) {
	told := &recorder{}
	s := New(Hooks{Events: told})
	log := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wanted := func(files ...string) (list []Compiled) {
		var jails []settings.Jail
		for i, file := range files {
			jails = append(jails, settings.Jail{Name: []string{"a", "b"}[i], File: file, Patterns: []string{"sshd"}, MaxRetry: 1, FindTime: time.Second})
		}
		list, err := CompileAll(jails)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	launch := func(w Compiled) *started {
		ended := make(chan struct{})
		return &started{Compiled: w, ended: ended, stop: func() { close(ended) }}
	}
	look := func() { // each of them once at its log
		for _, r := range s.running {
			ctx, stop := context.WithCancel(t.Context())
			r.log.Run(ctx, Clock{Now: time.Now, After: func(time.Duration) <-chan time.Time { stop(); return nil }}, nil)
		}
		s.tell()
	}
	reload := func(c []Compiled) {
		for _, name := range s.follow(c) {
			told.Emit(event.JailRecovered{Jail: name})
		}
	}
	s.begin(launch)
	reload(wanted(log+".none", log+".none"))
	look()
	reload(wanted(log))
	s.tell() // it has not looked yet
	if r := s.running[0]; !r.failing {
		t.Error("what comes in the place of a jail that failed is well at once")
	}
	look()
	reload(wanted(log + ".none"))
	look()
	s.end()
	var got []string
	for _, e := range *told {
		e, _, _ = strings.Cut(e, " "+log) // why it failed
		got = append(got, e)
	}
	want := []string{"jail_failed a", "jail_failed b", "jail_recovered b", "jail_recovered a", "jail_failed a"}
	if !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
}
