package web

import (
	"fmt"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/packets"
)

// What came while no daemon read names has as much time as what comes now: for its name, and for its host to answer.
func TestOlderThanTheService(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	old := b.now
	b.now = b.now.Add(4 * time.Second)
	s := &Service{table: b.table, quic: newAttempts(b.table), started: b.now}
	rst := fmt.Sprintf("send %s %d 0", packets.RST, cookie+1)
	hears := func(data string, want ...string) {
		t.Helper()
		e := first(data)
		e.At = old
		s.hear(e)
		b.done(want...)
	}
	hears(request, "answer 10.0.0.100:8080", fmt.Sprintf("replay %q x2", request))
	b.waits(3*time.Second-1, nil...)
	b.waits(1, "answer  drop_host_refused", fmt.Sprintf("replay %q x1", request), rst)
	b.waits(time.Second, "forget")

	s.started = b.now
	hears(request[:20])
	b.waits(3*time.Second-1, nil...)
	b.waits(1, "answer  drop_name_late", fmt.Sprintf("replay %q x1", request[:20]), rst)
	b.waits(time.Second, "forget")

	old = b.now.Add(time.Second) // of later than its start, the event's own time counts
	hears(request[:20])
	if c := b.all[flowOf(visitor)]; c == nil || c.began != old {
		t.Errorf("it began at %v, want %v", c, old)
	}
}
