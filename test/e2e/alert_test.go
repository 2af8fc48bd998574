package e2e

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/test/lab"
)

// story is what one alert is about, made by hand.
type story struct {
	alert string
	at    *daemon
	begin func()
	end   func()
	past  bool   // it is over some minutes later, whatever happens
	warns string // what status says of it, empty where it says nothing
	hints []hint
}

// hint is a command of the alert's section in the guide, and what that has to say.
type hint struct{ command, says string }

// tenth marks the copies of the package's alerts that look back a tenth as long.
const tenth = "tenth"

// Each alert of the package fires within a minute of its cause, and no other does; status and the commands of the guide say what it is about;
// and it is over when its cause is. Where that is five or ten minutes past, copies of the rules that look back a tenth as long are over; that
// those of the package are, promtool tests (TestPrometheusWatches).
func TestEachAlertHasItsStory(t *testing.T) {
	lab.LengthyOnly(t)
	synchronised := ownClock(t)
	synchronised(true)
	watch, paths, full, life := newWatching(t), newPaths(t), newFull(t), newLife(t)
	stories := slices.Concat(watch.stories(synchronised), watch.logStories(), paths.stories(), full.stories(), life.stories())
	p := watchOver(t, watch.realm, watch.daemon, paths.daemon, full.daemon, life.daemon)
	wanted := p.alerts(stories)
	eventually(t, 60*time.Second, "all gateways are read", func() bool {
		return strings.Count(p.get("/api/v1/query?query=count_over_time(realmgate_generation[1m])>3"), `"instance"`) == 4
	})
	if all := p.active(); len(all) > 0 {
		t.Fatalf("before any cause: %v", all)
	}

	p.within(time.Minute, "fires", stories, func(s *story) func() { return s.begin }, func(s *story) bool { return p.fires(s, "") && p.fires(s, tenth) })
	for _, found := range p.active() {
		if !wanted[found] {
			t.Errorf("of no story is %+v", found)
		}
	}
	for i := range stories {
		stories[i].isExplained(t)
	}
	p.within(2*time.Minute, "is over", stories, func(s *story) func() { return s.end }, func(s *story) bool {
		return !p.has(s, tenth) && (s.past || !p.has(s, ""))
	})
}

// within does what each story has to do, one after the other, and wants something of each within so long after that.
func (w *overseer) within(limit time.Duration, what string, stories []story, do func(*story) func(), holds func(*story) bool) {
	w.t.Helper()
	done := map[*story]time.Time{} // of those of whom it is still wanted
	look := func() {
		for s, at := range done {
			took := time.Since(at)
			if holds(s) {
				w.t.Logf("%s %s within %s", s.alert, what, took.Round(time.Second))
			} else if took > limit {
				w.t.Errorf("after %s it is not so that %s %s", limit, s.alert, what)
			} else {
				continue
			}
			delete(done, s)
		}
	}
	for i := range stories {
		s := &stories[i]
		if step := do(s); step != nil {
			step()
		}
		done[s] = time.Now()
		look()
	}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for len(done) > 0 {
		<-tick.C
		look()
	}
}

// isExplained asks status, and what the guide says to ask.
func (s *story) isExplained(t *testing.T) {
	t.Helper()
	if s.warns != "" && s.at.warning(s.warns) == "" {
		t.Errorf("%s: status does not say %q: %q", s.alert, s.warns, s.at.status().Warnings)
	}
	text, err := os.ReadFile("../../docs/guide/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## "+s.alert+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, a := range s.hints {
		if !strings.Contains(strings.ReplaceAll(section, "\n", " "), "`"+a.command+"`") {
			t.Errorf("%s: the guide does not say `%s`", s.alert, a.command)
		}
		if out := s.at.answers(a.command); !strings.Contains(out, a.says) {
			t.Errorf("%s: %s does not say %q:\n%s", s.alert, a.command, a.says, out)
		}
	}
}

// answers is what a command of the guide says on the gateway's machine, whatever its exit code.
func (d *daemon) answers(command string) string {
	d.t.Helper()
	words := strings.Fields(strings.NewReplacer("FILE", d.config, "CHAIN", "web", "SERVER", "198.51.100.53", "report.tar.zst", d.config+".tar.zst").Replace(command))
	if words[0] == "realmgate" && words[1] != "check" {
		out, _ := d.tell(words[1:]...)
		return out
	}
	if words[0] == "realmgate" {
		words[0] = program
	}
	out, _ := d.gateway.Command(context.Background(), words[0], words[1:]...).CombinedOutput()
	return string(out)
}
