package events

import (
	"context"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/events/event"
	"github.com/realmgate/realmgate/internal/events/settings"
)

// gathers is an outlet that counts what each delivery has.
type gathers struct{ sizes chan int }

func (g *gathers) deliver(_ context.Context, lines [][]byte, _ func(error)) (int, error) {
	if len(lines) > 0 {
		g.sizes <- len(lines)
	}
	return len(lines), nil
}
func (g *gathers) ended() <-chan struct{}      { return nil }
func (g *gathers) close(context.Context) error { return nil }

// A flood of bans makes one message at once and one for each pause after that, and what has no room is counted.
func TestPeopleAreToldAtTheirPace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		Options
		pause time.Duration
	}{
		{Options{Name: "mail", Mail: &settings.Mail{}}, time.Minute},
		{Options{Name: "chat", Telegram: &settings.Telegram{}}, 10 * time.Second},
	} {
		out := &gathers{make(chan int, 100)}
		s := newSink(c.Options, quiet)
		asked, go1 := make(chan time.Duration), make(chan time.Time)
		s.after = func(d time.Duration) <-chan time.Time { asked <- d; return go1 }
		go s.run(context.Background(), out)
		s.put(&record{event: event.Ban{}}, false)
		if n := <-out.sizes; n != 1 {
			t.Fatalf("%s: the first message has %d events", c.Name, n)
		}
		if d := <-asked; d != c.pause {
			t.Errorf("%s: the pause is %v, want %v", c.Name, d, c.pause)
		}
		for range 10_000 {
			s.put(&record{event: event.Ban{}}, false)
		}
		if n := len(out.sizes); n != 0 {
			t.Fatalf("%s: %d messages in the pause", c.Name, n)
		}
		go1 <- time.Time{}
		if n := <-out.sizes; n != queueRoom {
			t.Errorf("%s: the second message has %d events, want all %d that had room", c.Name, n, queueRoom)
		}
		<-asked
		s.put(&record{event: event.Ban{}}, false)
		close(s.closing) // ends the pause
		if n := <-out.sizes; n != 1 {
			t.Errorf("%s: the last message has %d events", c.Name, n)
		}
		go func() {
			for range asked { //nolint:revive // what it waits for at its end is over
			}
		}()
		<-s.over
		close(asked)
		if s.queue.delivered != 1+queueRoom+1 || s.queue.lost != 10_000-queueRoom {
			t.Errorf("%s: %d are delivered and %d lost", c.Name, s.queue.delivered, s.queue.lost)
		}
	}
}
