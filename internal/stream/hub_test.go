package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/api"
)

func newHub(sources map[string]Source) *Hub {
	return New(Options{Epoch: "e", Sources: sources, Log: slog.New(slog.DiscardHandler)})
}

func listen(t *testing.T, h *Hub, last string, topics ...string) api.Listener {
	t.Helper()
	l, err := h.Listen(api.Caller{Name: fmt.Sprint(h.number, topics)}, topics, last)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// hear is what comes next, in short.
func hear(t *testing.T, l api.Listener) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	told, err := l.Next(ctx)
	if err != nil {
		return err.Error()
	}
	text := ""
	if told.Reset {
		text += "reset "
	}
	if told.Lost > 0 {
		text += fmt.Sprintf("lost %d ", told.Lost)
	}
	for _, m := range told.Messages {
		text += fmt.Sprintf("%s:%s=%s ", l.ID(m), m.Topic, m.Data)
	}
	return text
}

// Who listens hears what is told from then on, of its topics, in their order; who comes back hears what came meanwhile.
func TestListen(t *testing.T) {
	t.Parallel()
	h := newHub(nil)
	h.Tell("bans", 1)
	l := listen(t, h, "", "bans", "events")
	for i, topic := range []string{"drops", "bans", "events", "bans"} {
		h.Tell(topic, i+2)
	}
	if got := hear(t, l); got != "e-3:bans=3 e-4:events=4 e-5:bans=5 " {
		t.Errorf("heard %q", got)
	}
	l.Close()
	h.Tell("events", 6)
	for last, want := range map[string]string{
		"e-3": "e-4:events=4 e-5:bans=5 e-6:events=6 ", "e-5": "e-6:events=6 ", "e-0": "e-1:bans=1 e-3:bans=3 e-4:events=4 e-5:bans=5 e-6:events=6 ",
		"f-5": "reset ", "e-7": "reset ", "e-x": "reset ", "5": "reset ", "e-": "reset ", "e--1": "reset ",
	} {
		if got := hear(t, listen(t, h, last, "bans", "events")); got != want {
			t.Errorf("after %s: %q, want %q", last, got, want)
		}
	}
	waits := make(chan string)
	now := listen(t, h, "e-6", "bans")
	go func() { waits <- hear(t, now) }()
	h.Tell("events", 7)
	h.Tell("bans", 8)
	if got := <-waits; got != "e-8:bans=8 " {
		t.Errorf("heard %q", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := now.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

// One who sleeps is told how many it lost, and 63 others of the same token hear everything in order. A flood of one topic takes
// nothing of another.
func TestSlowListener(t *testing.T) {
	t.Parallel()
	const all, chunk, readers = 3 * mostMessages, mostMessages / 2, 64
	h := newHub(nil)
	ofOne := func(topics ...string) api.Listener {
		t.Helper()
		l, err := h.Listen(api.Caller{Kind: "token", Name: "dashboards"}, topics, "")
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	sleeper := ofOne("drops", "bans")
	h.Tell("bans", "first")
	var hearing sync.WaitGroup
	heard := make(chan int, readers) // a chunk, by one listener
	for i := range readers - 1 {
		l := ofOne("drops")
		hearing.Go(func() {
			next := 0
			for next < all {
				told, err := l.Next(t.Context())
				if err != nil || told.Lost > 0 {
					t.Errorf("listener %d: lost %d, %v", i, told.Lost, err)
				}
				for _, m := range told.Messages {
					if string(m.Data) != fmt.Sprint(next) {
						t.Errorf("listener %d: %s came, want %d", i, m.Data, next)
					}
					if next++; next%chunk == 0 {
						heard <- next
					}
				}
			}
			l.Close()
		})
	}
	for i := range all {
		h.Tell("drops", i)
		if (i+1)%chunk == 0 { // as fast as those who listen
			for range readers - 1 {
				<-heard
			}
		}
	}
	hearing.Wait()
	told, err := sleeper.Next(t.Context())
	if err != nil || told.Lost != all-mostMessages || len(told.Messages) != atOnce || string(told.Messages[0].Data) != `"first"` || string(told.Messages[1].Data) != fmt.Sprint(all-mostMessages) {
		t.Errorf("the sleeper lost %d, %v, and hears %d: %s, %s", told.Lost, err, len(told.Messages), told.Messages[0].Data, told.Messages[1].Data)
	}
	if got := hear(t, listen(t, h, "e-5", "drops")); got[:6] != "reset " {
		t.Errorf("who was away for too long is told %q", got[:20])
	}
	if got := hear(t, listen(t, h, "e-0", "bans")); got != `e-1:bans="first" ` {
		t.Errorf("of another topic it is told %q", got)
	}
}

// What was told lately is there, the last first, whatever its topic.
func TestLately(t *testing.T) {
	t.Parallel()
	h := newHub(nil)
	for i, topic := range []string{"events", "bans", "drops", "events", "bans", "bans"} {
		h.Tell(topic, i+1)
	}
	for most, want := range map[int]string{0: "", 2: "6 5 ", 4: "6 5 4 2 ", 9: "6 5 4 2 1 "} {
		got := ""
		for _, m := range h.Lately(most, "bans", "events") {
			got += string(m.Data) + " "
		}
		if got != want {
			t.Errorf("the last %d are %q, want %q", most, got, want)
		}
	}
}

// What is kept is bounded in octets, too.
func TestRingIsBounded(t *testing.T) {
	t.Parallel()
	var r ring
	for i := range 100 {
		r.add(api.Message{Number: uint64(i) + 1, Data: make([]byte, mostOctets/10)})
	}
	if len(r.messages) != 10 || r.first != 90 || r.gone != 90 || r.octets > mostOctets {
		t.Errorf("%d are kept, %d octets, from %d, %d has gone", len(r.messages), r.octets, r.first, r.gone)
	}
	r.add(api.Message{Number: 101, Data: make([]byte, 2*mostOctets)})
	if len(r.messages) != 0 || r.octets != 0 || r.end() != 101 {
		t.Errorf("one that is too long: %d are kept, %d octets", len(r.messages), r.octets)
	}
}

// A source runs while somebody listens to its topic, once.
func TestSources(t *testing.T) {
	t.Parallel()
	began, ended := make(chan bool, 4), make(chan bool, 4)
	h := newHub(map[string]Source{"status": func(ctx context.Context, tell func(...any)) error {
		began <- true
		tell("now")
		<-ctx.Done()
		ended <- true
		return ctx.Err()
	}})
	other := listen(t, h, "", "bans")
	first := listen(t, h, "", "status")
	<-began
	second := listen(t, h, "", "status", "bans")
	if got := hear(t, first); got != `e-1:status="now" ` {
		t.Errorf("heard %q", got)
	}
	first.Close()
	select {
	case <-ended:
		t.Error("it ended while somebody listens")
	default:
	}
	second.Close()
	<-ended
	other.Close()
	again := listen(t, h, "", "status")
	<-began
	again.Close()
	<-ended
	if len(began) > 0 || fmt.Sprint(h.listeners) != fmt.Sprint(New(Options{}).listeners) {
		t.Errorf("%d more began, listeners %+v", len(began), h.listeners)
	}
}

// Who comes back to what passed while nobody listened is told to ask anew, of that topic alone, and after that goes on as always.
func TestNobodyListened(t *testing.T) {
	t.Parallel()
	tells := make(chan func(...any), 1)
	source := func(ctx context.Context, tell func(...any)) error {
		tells <- tell
		<-ctx.Done()
		return ctx.Err()
	}
	h := newHub(map[string]Source{"names": source, "pool": source})
	h.Passing = []string{"names"}
	for topic, want := range map[string]string{"names": "reset ", "pool": ""} {
		first := listen(t, h, "", topic)
		(<-tells)(1)
		heard := first.(*listener).ID(api.Message{Number: h.number})
		hear(t, first)
		first.Close()
		back := listen(t, h, heard, topic)
		(<-tells)(2)
		second := fmt.Sprintf("e-%d:%s=2 ", h.number, topic)
		if got := hear(t, back); got != want+second {
			t.Errorf("%s: who comes back alone hears %q, want %q", topic, got, want+second)
		}
		heard = back.(*listener).ID(api.Message{Number: h.number})
		other := listen(t, h, heard, topic)
		h.Tell(topic, 3)
		if got := hear(t, other); got != fmt.Sprintf("e-%d:%s=3 ", h.number, topic) {
			t.Errorf("%s: who comes back beside another hears %q", topic, got)
		}
		other.Close()
		back.Close()
	}
}

// One caller leaves room for others, and has it again when it has ended one.
func TestListenersOfOneCaller(t *testing.T) {
	t.Parallel()
	h := newHub(nil)
	ann, bob := api.Caller{Kind: "token", Name: "ann"}, api.Caller{Kind: "token", Name: "bob"}
	var last api.Listener
	for i := range mostListeners / 2 {
		l, err := h.Listen(ann, []string{"bans"}, "")
		if err != nil {
			t.Fatalf("after %d: %v", i, err)
		}
		last = l
	}
	if _, err := h.Listen(ann, []string{"bans"}, ""); err == nil || api.StatusOf(err) != http.StatusServiceUnavailable {
		t.Errorf("one more: %v", err)
	}
	last.Close()
	if _, err := h.Listen(ann, []string{"bans"}, ""); err != nil {
		t.Errorf("in the place of one that has ended: %v", err)
	}
	for i := range 10 {
		if _, err := h.Listen(bob, []string{"bans"}, ""); err != nil {
			t.Errorf("after %d of another: %v", i, err)
		}
	}
}
