package lifecycle

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// crew is workers that note what they are told.
type crew struct {
	Workers[map[string]*string, *string]
	told    []string
	started chan bool
}

func newCrew() *crew {
	c := &crew{started: make(chan bool, 16)}
	note := func(word string) func(*string) {
		return func(w *string) { c.told = append(c.told, word+" "+*w) }
	}
	c.Workers = Workers[map[string]*string, *string]{
		Start: func(_ context.Context, w *string) { note("start")(w); c.started <- true }, End: note("end"), Close: note("close"),
	}
	return c
}

// prepare takes over those before that are named again, and makes the others.
func (c *crew) prepare(names ...string) Change {
	_, change := c.Prepare(func(before map[string]*string) map[string]*string {
		all := map[string]*string{}
		for _, name := range names {
			if all[name] = before[name]; all[name] == nil {
				all[name] = &name
			}
		}
		return all
	})
	return change
}

func (c *crew) want(t *testing.T, when string, want ...string) {
	t.Helper()
	slices.Sort(c.told)
	if got := strings.Join(c.told, ", "); got != strings.Join(want, ", ") {
		t.Errorf("%s: %s, want %s", when, got, strings.Join(want, ", "))
	}
	c.told = nil
}

// Who stays goes on, who does not ends, and what is discarded takes nothing from who is in force.
func TestWorkers(t *testing.T) {
	t.Parallel()
	c := newCrew()
	c.prepare("a", "b").Settle()
	c.want(t, "before it runs")
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- c.Run(ctx) }()
	<-c.started
	<-c.started
	c.mutex.Lock() // Run has let go of it
	c.want(t, "run", "start a", "start b")
	c.mutex.Unlock()
	c.prepare("b", "c").Discard()
	c.want(t, "discarded", "close c", "end c")
	c.prepare("b", "c").Settle()
	c.want(t, "settled", "close a", "end a", "start b", "start c")
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	c.want(t, "ended", "end b", "end c")
	c.prepare("c").Settle()
	c.want(t, "settled behind the end", "close b", "end b")
	if err := c.Stop(); err != nil || len(c.Current()) > 0 {
		t.Error(err, fmt.Sprint(c.Current()))
	}
	c.want(t, "stopped", "close c", "end c")
}
