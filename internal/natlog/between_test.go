package natlog

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/natlog/settings"
)

// saysOf is says of the times from one until another; each user has its beginning before it.
func (w *writer) saysOf(port uint16, from time.Time, last time.Duration, want string) {
	w.t.Helper()
	said, err := (&folder{path: w.path}).between(w.t.Context(), query{outside, port, model.AnyProtocol, from}, from.Add(last))
	if err != nil {
		w.t.Fatal(err)
	}
	var since []string
	for _, u := range said.users {
		text := u.record.Time.UTC().Format("15:04:05.000 ")
		if u.record.Kind.stands() {
			text = "before " + text
		}
		since = append(since, text)
	}
	got := summary(said, from)
	for i, text := range since {
		parts := strings.Split(got, ", ")
		parts[i] = text + parts[i]
		got = strings.Join(parts, ", ")
	}
	if got != want {
		w.t.Errorf("port %d from %s for %s:\n got %q\nwant %q", port, from.Format("15:04:05.000"), last, got, want)
	}
}

// All who had a port within a second are found, the first first: in the running minute, and in blocks.
func TestUsersWithinASecond(t *testing.T) {
	t.Parallel()
	w := newWriter(t)
	w.put(Record{Kind: LogBegun}, mapping(MappingBegun, 1, 40000))
	for _, step := range []struct {
		kind Kind
		host byte
		at   time.Duration
	}{{MappingEnded, 1, 5100}, {MappingBegun, 2, 5200}, {MappingEnded, 2, 5300}, {MappingBegun, 3, 5300}, {MappingEnded, 3, 5900}, {MappingBegun, 4, 6000}} {
		w.at = noon.Add(step.at * time.Millisecond)
		w.put(mapping(step.kind, step.host, 40000))
		tcp := mapping(step.kind, step.host, 40001)
		if step.host == 3 {
			tcp.Protocol = model.TCP
		}
		w.put(tcp)
	}
	at := func(ms int) time.Time { return noon.Add(time.Duration(ms) * time.Millisecond) }
	for range 2 {
		w.saysOf(40000, at(5000), time.Second, "12:00:00.000 host1.example until 12:00:05, 12:00:05.200 host2.example until 12:00:05, 12:00:05.300 host3.example until 12:00:05")
		w.saysOf(40001, at(5000), time.Second, "12:00:05.200 host2.example until 12:00:05, 12:00:05.300 host3.example until 12:00:05")
		w.saysOf(40000, at(5250), time.Millisecond, "12:00:05.200 host2.example until 12:00:05")
		w.saysOf(40000, at(5100), 100*time.Millisecond, "")
		w.saysOf(40000, at(5099), 100*time.Millisecond, "12:00:00.000 host1.example until 12:00:05")
		w.saysOf(40000, at(5000), time.Minute, "12:00:00.000 host1.example until 12:00:05, 12:00:05.200 host2.example until 12:00:05, 12:00:05.300 host3.example until 12:00:05, 12:00:06.000 host4.example")
		w.saysOf(40000, noon.Add(-time.Hour), time.Second, "unknown")
		w.pass(5 * time.Minute)
		w.put()
	}
}

// Who has a port over midnight is one user, also where it ends within the same second.
func TestUserOverMidnight(t *testing.T) {
	t.Parallel()
	w := newWriter(t)
	w.at = noon.Add(11 * time.Hour)
	w.put(Record{Kind: LogBegun}, mapping(MappingBegun, 1, 40000))
	midnight := noon.Add(12 * time.Hour)
	w.at = midnight
	w.stood = []Record{mapping(MappingStands, 1, 40000)}
	w.put()
	w.saysOf(40000, midnight.Add(-500*time.Millisecond), time.Second, "23:00:00.000 host1.example")
	w.pass(200 * time.Millisecond)
	w.put(mapping(MappingEnded, 1, 40000))
	w.pass(100 * time.Millisecond)
	w.put(mapping(MappingBegun, 1, 40000))
	w.saysOf(40000, midnight.Add(-500*time.Millisecond), time.Second, "23:00:00.000 host1.example until 00:00:00, 00:00:00.300 host1.example")
	w.saysOf(40000, midnight, time.Second, "before 00:00:00.000 host1.example until 00:00:00, 00:00:00.300 host1.example")
}

// What ends before the log, or another process, begins within the time is found, too; also what had no end by then.
func TestUsersBeforeARestart(t *testing.T) {
	t.Parallel()
	for _, adopted := range []bool{false, true} {
		w := newWriter(t)
		w.put(Record{Kind: LogBegun}, mapping(MappingBegun, 1, 40000), mapping(MappingBegun, 1, 40001))
		w.pass(5 * time.Second)
		w.put(mapping(MappingEnded, 1, 40000))
		if err := w.close(t.Context()); err != nil {
			t.Fatal(err)
		}
		next := again(t, w.path, noon.Add(21*time.Second))
		next.put(Record{Kind: LogBegun, Adopted: adopted})
		for range 2 {
			next.saysOf(40000, noon, time.Minute, "12:00:00.000 host1.example until 12:00:05")
			next.saysOf(40001, noon, time.Minute, "12:00:00.000 host1.example")
			next.saysOf(40000, noon.Add(30*time.Second), time.Second, "")
			next.pass(5 * time.Minute)
			next.put()
		}
	}
}

// Who had a port just before midnight is found by a time that lasts until after it.
func TestUserBeforeMidnight(t *testing.T) {
	t.Parallel()
	w := newWriter(t)
	midnight := noon.Add(12 * time.Hour)
	w.at = midnight.Add(-40 * time.Second)
	w.put(Record{Kind: LogBegun})
	w.pass(30 * time.Second)
	w.put(mapping(MappingBegun, 1, 40000))
	w.pass(5 * time.Second)
	w.put(mapping(MappingEnded, 1, 40000))
	w.at = midnight
	w.put()
	w.saysOf(40000, midnight.Add(-30*time.Second), time.Minute, "23:59:50.000 host1.example until 23:59:55")
	w.saysOf(40000, midnight, time.Minute, "")
}

// Of a time in which more had a port than are told of, that is said; and who asks may go before all are found.
func TestTooManyUsers(t *testing.T) {
	t.Parallel()
	w := newWriter(t)
	w.put(Record{Kind: LogBegun})
	var records []Record
	for range mostUsers + 1 {
		for _, kind := range []Kind{MappingBegun, MappingEnded} {
			w.pass(time.Millisecond)
			r := mapping(kind, 1, 40000)
			r.Time = w.at
			records = append(records, r)
		}
	}
	w.put(records...)
	for last, want := range map[time.Duration]int{2 * mostUsers * time.Millisecond: mostUsers, time.Hour: mostUsers} {
		said, err := w.between(t.Context(), query{outside, 40000, model.UDP, noon.Add(time.Millisecond)}, noon.Add(time.Millisecond+last))
		if err != nil || len(said.users) != want || said.more != (last == time.Hour) {
			t.Errorf("within %v are %d users, more %t, %v", last, len(said.users), said.more, err)
		}
	}
	ctx, leave := context.WithCancel(t.Context())
	leave()
	if said, err := w.between(ctx, query{outside, 40000, model.UDP, noon}, noon.Add(time.Hour)); !errors.Is(err, context.Canceled) {
		t.Errorf("when nobody waits any more, %d users are looked for, %v", len(said.users), err)
	}
}

// One trace goes on at a time; another waits, as long as its caller.
func TestOneTraceAtATime(t *testing.T) {
	t.Parallel()
	s := newService(t, &plane{}, settings.Log{Sinks: []settings.Sink{directory(t.TempDir(), 2)}})
	ask := func(ctx context.Context) error {
		_, err := s.Trace(ctx, api.TraceRequest{Address: outside, Port: 40000, Protocol: model.UDP, At: noon, Until: noon.Add(time.Second)})
		return err
	}
	s.tracing <- struct{}{}
	ctx, leave := context.WithCancel(t.Context())
	leave()
	if err := ask(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("beside another: %v", err)
	}
	<-s.tracing
	if err := ask(t.Context()); err != nil {
		t.Errorf("behind another: %v", err)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
}
