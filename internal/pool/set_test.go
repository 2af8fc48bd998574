package pool

import (
	"testing"

	"github.com/realmgate/realmgate/internal/model"
	"pgregory.net/rapid"
)

func TestSetAndTimers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s set
		var timers timers
		want := map[int32]model.Instant{}
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			i := rapid.Int32Range(0, 9000).Draw(t, "member")
			if rapid.Bool().Draw(t, "add") {
				want[i] = model.Instant(rapid.IntRange(0, 50).Draw(t, "at"))
				s.add(i)
				timers.set(i, want[i])
			} else {
				delete(want, i)
				s.remove(i)
				timers.remove(i)
			}
		}
		n := 0
		for i := s.next(0); i >= 0; i = s.next(i + 1) {
			if _, ok := want[i]; !ok {
				t.Fatalf("%d should not be a member", i)
			}
			n++
		}
		if n != len(want) || s.size != n {
			t.Fatalf("walked %d of %d, size %d", n, len(want), s.size)
		}
		now := model.Instant(rapid.IntRange(0, 50).Draw(t, "now"))
		due := 0
		for _, at := range want {
			if at <= now {
				due++
			}
		}
		if found := timers.until(now, nil); len(found) != due {
			t.Fatalf("%d are due, found %d", due, len(found))
		}
		for last := model.Instant(0); len(timers.heap) > 0; {
			first, _ := timers.first()
			if first.at < last || want[first.entry] != first.at {
				t.Fatalf("%+v after %d", first, last)
			}
			last = first.at
			timers.remove(first.entry)
		}
	})
}
