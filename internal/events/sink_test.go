package events

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/realmgate/realmgate/internal/events/event"
)

var quiet = slog.New(slog.DiscardHandler)

// atOnce is a clock whose waits are over.
func atOnce(time.Duration) <-chan time.Time {
	c := make(chan time.Time)
	close(c)
	return c
}

// fickle is an outlet that takes as many lines as it was told, and then fails.
type fickle struct {
	takes []int
	lines [][]byte
}

func (f *fickle) deliver(_ context.Context, lines [][]byte, _ func(error)) (int, error) {
	if len(f.takes) == 0 || len(lines) == 0 {
		f.lines = append(f.lines, lines...)
		return len(lines), nil
	}
	n := min(f.takes[0], len(lines))
	f.takes = f.takes[1:]
	f.lines = append(f.lines, lines[:n]...)
	return n, errors.New("no more")
}

func (f *fickle) ended() <-chan struct{}      { return nil }
func (f *fickle) close(context.Context) error { return nil }

// Whatever an outlet refuses comes again, in order and once.
func TestSinkDeliversAllThatFindsRoom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		out := &fickle{takes: rapid.SliceOfN(rapid.IntRange(0, 4), 0, 20).Draw(t, "takes")}
		s := newSink(Options{Name: "a"}, quiet)
		s.after = atOnce
		s.queue.room = rapid.IntRange(1, 30).Draw(t, "room")
		emitted := uint64(rapid.IntRange(0, 60).Draw(t, "emitted"))
		go s.run(context.Background(), out)
		for n := range emitted {
			s.put(&record{sequence: n + 1, event: event.Stop{}}, n+1 == emitted)
		}
		for s.waiting() > 0 { // it fails so many times at most
			time.Sleep(time.Microsecond)
		}
		close(s.closing)
		<-s.over
		sequence := uint64(0)
		for _, line := range out.lines {
			var h header
			if err := json.Unmarshal(line, &h); err != nil || h.Sequence != sequence+h.Lost+1 {
				t.Fatalf("%s after %d: %v", line, sequence, err)
			}
			sequence = h.Sequence
		}
		if sequence != emitted || s.queue.delivered+s.queue.lost != emitted || s.queue.delivered != uint64(len(out.lines)) {
			t.Fatalf("the last of %d is %d: %+v", emitted, sequence, s.queue)
		}
	})
}

// waits is a clock that says for how long it was asked to wait.
type waits chan time.Duration

func (w waits) after(d time.Duration) <-chan time.Time {
	w <- d
	return atOnce(d)
}

// falls waits until no more than most are in the queue.
func (s *sink) falls(t *testing.T, most int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); s.waiting() > most; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d wait, not %d", s.waiting(), most)
		}
	}
}

// A sink that fails is tried after longer and longer times, and the log is told once.
func TestSinkWaitsLongerAndLonger(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	s := newSink(Options{Name: "a"}, slog.New(slog.NewTextHandler(&text, nil)))
	asked := make(waits)
	s.after = asked.after
	s.put(&record{event: event.Stop{}}, false)
	ctx, cancel := context.WithCancel(t.Context())
	go s.run(ctx, &fickle{takes: make([]int, 8)})
	var got []time.Duration
	for range 8 {
		got = append(got, (<-asked)/time.Second)
	}
	s.falls(t, 0)
	cancel()
	<-s.over
	if want := []time.Duration{1, 2, 4, 8, 16, 32, 60, 60}; !slices.Equal(got, want) {
		t.Errorf("waits of %d s, want %d s", got, want)
	}
	if log := text.String(); strings.Count(log, "delivery failed") != 1 || strings.Count(log, "delivery resumed") != 1 || s.failures != 8 || s.fault != "" {
		t.Errorf("%d failures, %q, log:\n%s", s.failures, s.fault, log)
	}
}

// A sink that is still wanted goes on with what it has counted; one that is not takes what
// waits for it, and ends.
func TestFollowLetsUnchangedSinksGoOn(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	a, b := Options{Name: "a", File: folder + "/a"}, Options{Name: "b", File: folder + "/b"}
	some := b
	some.Kinds = []event.Kind{"stop"}
	h := &Hub{Log: quiet}
	h.Follow([]Options{a, b})
	h.Emit(event.PoolRecovered{})
	first, second := h.sinks[0], h.sinks[1]
	h.Follow([]Options{some, a})
	if h.sinks[1] != first || h.sinks[0] == second {
		t.Error("an unchanged sink was changed, or a changed one was not")
	}
	<-second.over
	h.Emit(event.PoolRecovered{})
	h.Close(event.Stop{})
	h.Follow([]Options{b})
	if s := h.Status(); s[0].Delivered != 1 || s[1].Delivered != 3 || len(s) != 2 {
		t.Errorf("%+v", s)
	}
	for file, want := range map[string]int{"/a": 3, "/b": 2} {
		if text, err := os.ReadFile(folder + file); err != nil || bytes.Count(text, []byte("\n")) != want {
			t.Errorf("%s: %v: %s", file, err, text)
		}
	}
}

// stuck is an outlet that takes nothing until it has to end.
type stuck struct{}

func (*stuck) deliver(ctx context.Context, lines [][]byte, _ func(error)) (int, error) {
	if len(lines) == 0 {
		return 0, nil
	}
	<-ctx.Done()
	return 0, ctx.Err()
}
func (*stuck) ended() <-chan struct{}      { return nil }
func (*stuck) close(context.Context) error { return nil }

// What is emitted beyond a queue's room is lost for the sink that is stuck, and for no
// other; nobody waits for it.
func TestAStuckSinkHoldsUpNobody(t *testing.T) {
	t.Parallel()
	h := &Hub{Log: quiet}
	well := &fickle{}
	fine, bad := newSink(Options{Name: "fine"}, quiet), newSink(Options{Name: "bad"}, quiet)
	h.sinks = []*sink{h.launch(fine, well), h.launch(bad, &stuck{})}
	const emitted = queueRoom + 100
	for n := range uint64(emitted) {
		h.Emit(event.PoolRecovered{Refused: n})
		fine.falls(t, queueRoom/2) // this one is to lose nothing
	}
	if s := h.Status(); s[1].Lost != 100 || s[1].Queued != queueRoom || s[1].Delivered != 0 {
		t.Errorf("the stuck sink: %+v", s[1])
	}
	h.Close(event.Stop{})
	if last := string(well.lines[len(well.lines)-1]); len(well.lines) != emitted+1 || !strings.Contains(last, `"kind":"stop"`) {
		t.Errorf("%d lines, the last %s", len(well.lines), last)
	}
	if s := h.Status(); s[0].Delivered != emitted+1 || s[0].Lost != 0 || s[1].Lost != emitted+1 || s[1].Queued != 0 {
		t.Errorf("after the end: %+v", s)
	}
	h.Emit(event.Stop{})
	if s := h.Status(); s[0].Queued > 0 {
		t.Error("an event after the last")
	}
}

// gated is an outlet that takes nothing until its gate is open.
type gated struct {
	fickle
	gate chan struct{}
}

func (g *gated) deliver(ctx context.Context, lines [][]byte, fault func(error)) (int, error) {
	<-g.gate
	return g.fickle.deliver(ctx, lines, fault)
}

// The last event is told also where the queue was full before it, with what was lost.
func TestTheLastEventFindsRoom(t *testing.T) {
	t.Parallel()
	out := &gated{gate: make(chan struct{})}
	h := &Hub{Log: quiet}
	h.sinks = []*sink{h.launch(newSink(Options{Name: "a"}, quiet), out)}
	for range queueRoom + 7 {
		h.Emit(event.PoolRecovered{})
	}
	go func() {
		for closed := false; !closed; time.Sleep(time.Microsecond) {
			h.mutex.Lock()
			closed = h.closed
			h.mutex.Unlock()
		}
		close(out.gate)
	}()
	h.Close(event.Stop{})
	last := string(out.lines[len(out.lines)-1])
	if len(out.lines) != queueRoom+1 || !strings.Contains(last, `"kind":"stop"`) || !strings.Contains(last, `"lost":7`) {
		t.Errorf("%d lines, the last %s", len(out.lines), last)
	}
}

// weighing is an outlet that takes all, and knows how long it was each time.
type weighing struct{ bytes, lines []int }

func (w *weighing) deliver(_ context.Context, lines [][]byte, _ func(error)) (int, error) {
	if len(lines) > 0 {
		w.bytes, w.lines = append(w.bytes, len(bytes.Join(lines, nil))), append(w.lines, len(lines))
	}
	return len(lines), nil
}
func (*weighing) ended() <-chan struct{}      { return nil }
func (*weighing) close(context.Context) error { return nil }

// Long events come in smaller numbers, and one that is too long alone comes alone.
func TestWhatIsDeliveredAtOnceIsBounded(t *testing.T) {
	t.Parallel()
	s, out := newSink(Options{Name: "a"}, quiet), &weighing{}
	for _, length := range []int{batchBytes, 1000, 1000, batchBytes / 2, batchBytes / 2, batchBytes} {
		s.put(&record{event: event.Stop{Error: strings.Repeat("x", length)}}, false)
	}
	for range 2 * batch {
		s.put(&record{event: event.Stop{}}, false)
	}
	for more := true; more; {
		var err error
		if more, err = s.step(t.Context(), out); err != nil {
			t.Fatal(err)
		}
	}
	if want := []int{1, 3, 1, 1, batch, batch}; !slices.Equal(out.lines, want) || out.bytes[1] > batchBytes || s.queue.delivered != 206 {
		t.Errorf("at once came %v lines, want %v, of %v bytes", out.lines, want, out.bytes)
	}
}
