package allocation

import (
	"testing"
	"time"
)

// The second of a question begins when it is counted, whatever others are asked.
func TestRepeatsWithinASecondOfTheFirst(t *testing.T) {
	var r recent
	for _, step := range []struct {
		after time.Duration
		n     int // of web
		again bool
	}{
		{0, 1, false},
		{990 * time.Millisecond, 2, false},
		{999 * time.Millisecond, 1, true},
		{1000 * time.Millisecond, 2, true}, // 10 ms after it, though a second after the first of all
		{1000 * time.Millisecond, 1, false},
		{1989 * time.Millisecond, 2, true},
		{1990 * time.Millisecond, 2, false},
		{1999 * time.Millisecond, 1, true},
		{9 * time.Second, 1, false},
	} {
		if again := r.repeated(start.Add(step.after), same{client, web(step.n).Name}); again != step.again {
			t.Errorf("question %d after %s: repeated is %v", step.n, step.after, again)
		}
	}
}

// A flood of different questions displaces the oldest, no others, and takes no more memory than it may.
func TestRepeatsAreBounded(t *testing.T) {
	var r recent
	asked := func(n int) same { return same{stranger(n), "www.foo.example."} }
	for n := range 3 * mostRepeats {
		if r.repeated(start.Add(time.Duration(n)), asked(n)) {
			t.Fatalf("question %d is new", n)
		}
	}
	now := start.Add(3 * mostRepeats)
	if len(r.seen) != mostRepeats || len(r.order) != mostRepeats || cap(r.order) > 4*mostRepeats {
		t.Errorf("%d and %d are remembered, with room for %d", len(r.seen), len(r.order), cap(r.order))
	}
	for n, again := range map[int]bool{3*mostRepeats - 1: true, 2 * mostRepeats: true} {
		if r.repeated(now, asked(n)) != again {
			t.Errorf("question %d of %d: repeated is %v", n, 3*mostRepeats, !again)
		}
	}
	if r.repeated(now, asked(2*mostRepeats-1)) {
		t.Error("the oldest is remembered beyond the bound")
	}
	if r.repeated(now.Add(repeatsWithin), asked(0)); len(r.seen) != 1 || len(r.order) != 1 {
		t.Errorf("a second later %d and %d are remembered", len(r.seen), len(r.order))
	}
}
