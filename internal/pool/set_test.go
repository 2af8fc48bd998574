package pool

import (
	"slices"
	"testing"

	"github.com/realmgate/realmgate/internal/model"
	"pgregory.net/rapid"
)

// A key's places are the same whether they are a list or a bitset.
func TestKeyPlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ps := &places{keys: map[key]*keyPlaces{}}
		want := map[int32]bool{}
		for range rapid.IntRange(0, 400).Draw(t, "steps") {
			i := rapid.Int32Range(0, 150).Draw(t, "place")
			held := !want[i]
			// In long runs up or down both turns are taken.
			if up := rapid.IntRange(0, 3).Draw(t, "against") > 0; up == (len(want) > 100) && held {
				continue
			}
			ps.note(1, i, held)
			if held {
				want[i] = true
			} else {
				delete(want, i)
			}
		}
		on := ps.keys[1]
		if on == nil {
			on = &keyPlaces{}
		}
		if on.size != len(want) || on.many == nil && len(on.few) != on.size {
			t.Fatalf("size %d, %d listed, want %d", on.size, len(on.few), len(want))
		}
		for i := range want {
			if !on.many.has(i) && !slices.Contains(on.few, i) {
				t.Fatalf("%d is missing", i)
			}
		}
	})
}

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
