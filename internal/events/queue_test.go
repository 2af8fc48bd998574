package events

import (
	"testing"

	"pgregory.net/rapid"
)

// Whatever comes when, events are delivered in order, each delivered one knows how many
// were lost just before it, and none is unaccounted for.
func TestQueueDeliversInOrderAndCountsWhatItLoses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := queue{room: rapid.IntRange(1, 5).Draw(t, "room")}
		emitted, got := uint64(0), []entry(nil)
		put := func(last bool) {
			emitted++
			if r := (&record{sequence: emitted}); last {
				q.putLast(r)
			} else {
				q.put(r)
			}
		}
		take := func(n int) {
			some := q.first(n)
			got = append(got, some...)
			q.done(len(some))
		}
		for range rapid.IntRange(0, 50).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "put") {
				put(false)
			} else {
				take(rapid.IntRange(0, 3).Draw(t, "taken"))
			}
			if q.delivered+q.lost+uint64(len(q.waiting)) != emitted || len(q.waiting) > q.room {
				t.Fatalf("emitted %d: %+v", emitted, q)
			}
		}
		put(true)
		take(q.room)
		sequence := uint64(0)
		for _, e := range got {
			if e.record.sequence != sequence+e.lost+1 {
				t.Fatalf("event %d says that %d were lost after %d", e.record.sequence, e.lost, sequence)
			}
			sequence = e.record.sequence
		}
		if sequence != emitted {
			t.Fatalf("the last of %d is %d", emitted, sequence)
		}
		put(false)
		q.abandon()
		if q.delivered+q.lost != emitted || len(q.waiting) > 0 {
			t.Fatalf("emitted %d: %+v", emitted, q)
		}
	})
}
