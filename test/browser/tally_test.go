package browser

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// A visit is hung if it took longer than hungAfter, and hungTimes as long as the
// slowest visit of its kind without the gateway in the same minute.
const (
	hungAfter = 2 * time.Second
	hungTimes = 3
	sameTime  = time.Minute
	listed    = 60 // visits that a report names
)

// outcome is what came of a visit.
type outcome struct {
	who    string // the browser or program
	what   string // what it did before, as "after 58s"
	at     time.Time
	took   time.Duration
	loaded time.Duration // what a page says it took, without the test's own part
	wrong  bool          // something came from another host than was asked for
	failed bool          // something did not come
	detail string
}

// tally collects visits through the gateway, and such without it.
type tally struct {
	mutex   sync.Mutex
	visits  []outcome
	directs map[string][]outcome // by kind of program, the first word of who
}

func (t *tally) add(o outcome) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.visits = append(t.visits, o)
}

func (t *tally) addDirect(o outcome) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.directs == nil {
		t.directs = map[string][]outcome{}
	}
	t.directs[kind(o.who)] = append(t.directs[kind(o.who)], o)
}

func kind(who string) string {
	first, _, _ := strings.Cut(who, " ")
	return first
}

// counts are of visits; one may be wrong, failed and hung at once.
type counts struct {
	visits, wrong, hung, failed int
	slowest, slowestDirect      time.Duration
}

func (t *tally) count() counts {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	var c counts
	for _, o := range t.visits {
		c.visits++
		if o.wrong {
			c.wrong++
		}
		if o.failed {
			c.failed++
		}
		if t.hung(o) {
			c.hung++
		}
		c.slowest = max(c.slowest, o.took)
	}
	for _, directs := range t.directs {
		for _, d := range directs {
			c.slowestDirect = max(c.slowestDirect, d.took)
		}
	}
	return c
}

// hung compares a visit with the slowest direct one of the same minute.
func (t *tally) hung(o outcome) bool {
	if o.took <= hungAfter {
		return false
	}
	var slowest time.Duration
	for _, d := range t.directs[kind(o.who)] {
		if apart := d.at.Sub(o.at).Abs(); apart <= sameTime && !d.failed {
			slowest = max(slowest, d.took)
		}
	}
	return o.took > hungTimes*slowest
}

// bad lists what was not as it should be, in the order of time.
func (t *tally) bad() []string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	var lines []string
	for _, o := range t.visits {
		var words []string
		for _, flaw := range []struct {
			is   bool
			word string
		}{{o.wrong, "WRONG HOST"}, {o.failed, "failed"}, {t.hung(o), "hung"}} {
			if flaw.is {
				words = append(words, flaw.word)
			}
		}
		if len(words) > 0 {
			lines = append(lines, fmt.Sprintf("%s %s %s: %s after %.1f s %s",
				o.at.Format("15:04:05"), o.who, o.what, strings.Join(words, ", "), o.took.Seconds(), o.detail))
		}
	}
	return lines
}

// report logs the counts, and what was bad. It fails the test unless all is well
// or, where addresses are scarce, unless nothing is wrong.
func (t *tally) report(test *testing.T, what string, scarce bool) {
	test.Helper()
	c := t.count()
	line := fmt.Sprintf("%s: %d visits, %d wrong, %d hung, %d failed; the slowest took %.1f s, without the gateway %.1f s",
		what, c.visits, c.wrong, c.hung, c.failed, c.slowest.Seconds(), c.slowestDirect.Seconds())
	switch {
	case c.visits == 0:
		test.Errorf("%s: nothing was visited", what)
	case c.ok(scarce):
		test.Log(line)
	default:
		bad := t.bad()
		test.Errorf("%s; these, at most %d of them:\n%s", line, listed, strings.Join(bad[:min(len(bad), listed)], "\n"))
	}
}

func (c counts) ok(scarce bool) bool { return c.wrong == 0 && (scarce || c.hung+c.failed == 0) }

func TestTallyCanFail(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	var all tally
	for _, o := range []outcome{
		{who: "Chromium 1", took: time.Second},
		{who: "Chromium 1", took: 5 * time.Second},
		{who: "Chromium 1", took: 7 * time.Second}, // over three times 2 s
		{who: "Firefox 1", took: 7 * time.Second},  // not over three times 3 s
		{who: "Firefox 1", took: time.Second, wrong: true},
		{who: "Firefox 1", took: 30 * time.Second, wrong: true, failed: true},
	} {
		o.at = begin
		all.add(o)
	}
	all.addDirect(outcome{who: "Chromium 2", at: begin.Add(30 * time.Second), took: 2 * time.Second})
	all.addDirect(outcome{who: "Chromium 2", at: begin.Add(90 * time.Second), took: 20 * time.Second}) // another minute
	all.addDirect(outcome{who: "Firefox 2", at: begin.Add(-time.Second), took: 3 * time.Second})
	if got, want := all.count(), (counts{visits: 6, wrong: 2, hung: 2, failed: 1, slowest: 30 * time.Second, slowestDirect: 20 * time.Second}); got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
	for _, c := range []counts{{wrong: 1}, {hung: 1}, {failed: 1}} {
		if c.ok(false) {
			t.Errorf("%+v passes", c)
		}
	}
	if (counts{wrong: 1}).ok(true) || !(counts{hung: 1, failed: 1}).ok(true) {
		t.Error("where addresses are scarce, a wrong host has to fail and nothing else")
	}
	if lines := all.bad(); len(lines) != 3 {
		t.Errorf("%d visits are called bad, want 3:\n%s", len(lines), strings.Join(lines, "\n"))
	}
}
