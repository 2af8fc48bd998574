package lists

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func now() time.Time { return clockStart }

func sized(entries int) *List { return &List{Entries: entries} }

func TestFailuresAreRetriedSoonAndThenLessSoon(t *testing.T) {
	s := NewState(10*time.Minute, middling)
	if !s.Next().IsZero() {
		t.Errorf("a new list is not fetched at once but at %v", s.Next())
	}
	failure := errors.New("no route")
	for i, want := range []time.Duration{1, 2, 4, 8, 10, 10, 10} {
		s.Fail(failure, clockStart)
		if got := s.Next().Sub(clockStart); got != want*time.Minute {
			t.Errorf("after %d failures the next attempt is in %v, want %v min", i+1, got, int(want))
		}
	}
	if got := s.Status(clockStart); got.Failures != 7 || got.Error != "no route" || got.Entries != 0 || got.Age != 0 {
		t.Errorf("%+v", got)
	}
	if err := s.Take(sized(5), Validators{}, clockStart); err != nil || s.Next().Sub(clockStart) != 10*time.Minute {
		t.Errorf("%v, next in %v", err, s.Next().Sub(clockStart))
	}
	s.Fail(failure, clockStart)
	if got := s.Next().Sub(clockStart); got != time.Minute {
		t.Errorf("after a success the first failure waits %v", got)
	}
	short := NewState(10*time.Second, middling)
	short.Fail(failure, clockStart)
	if got := short.Next().Sub(clockStart); got != 10*time.Second {
		t.Errorf("a failure waits %v, longer than the interval", got)
	}
}

func TestGatewaysDoNotAllAskAtOnce(t *testing.T) {
	for chance, want := range map[float64]time.Duration{0: 54 * time.Minute, 0.5: hour, 0.75: 63 * time.Minute} {
		s := NewState(hour, func() float64 { return chance })
		s.Unchanged(Validators{}, clockStart)
		if got := s.Next().Sub(clockStart); got != want {
			t.Errorf("chance %v: next in %v, want %v", chance, got, want)
		}
	}
}

func TestARestoredCopyIsRefreshedWhenItWouldHaveBeen(t *testing.T) {
	for _, c := range []struct{ fetched, next, age time.Duration }{
		{-10 * time.Minute, 50 * time.Minute, 10 * time.Minute},
		{-3 * hour, 0, 3 * hour},
		{3 * hour, hour, 0}, // the clock was set back
	} {
		s := NewState(hour, middling)
		v := Validators{ETag: `"1"`}
		s.Restore(sized(7), v, clockStart.Add(c.fetched), clockStart)
		if got := s.Next().Sub(clockStart); got != c.next || s.Validators() != v {
			t.Errorf("fetched at %v: next in %v, want %v; asked with %v", c.fetched, got, c.next, s.Validators())
		}
		if got := s.Status(clockStart); got.Age != c.age || got.Entries != 7 || got.Error != "" {
			t.Errorf("fetched at %v: %+v", c.fetched, got)
		}
	}
}

func TestALargeShrinkageIsRefusedUntilItStays(t *testing.T) {
	for _, c := range []struct {
		name  string
		sizes []int // of the copies; 0 is that nothing has changed
		taken []int // entries in force after each
	}{
		{"half is no shrinkage", []int{100, 50}, []int{100, 50}},
		{"less is", []int{100, 49}, []int{100, 100}},
		{"of a small list it is not", []int{19, 1}, []int{19, 1}},
		{"of 20 it is", []int{20, 9}, []int{20, 20}},
		{"the third in a row is believed", []int{100, 10, 12, 11}, []int{100, 100, 100, 11}},
		{"not one that goes on shrinking", []int{100, 40, 19, 9, 9, 9}, []int{100, 100, 100, 100, 100, 9}},
		{"a good one in between begins anew", []int{100, 10, 100, 10, 10, 10}, []int{100, 100, 100, 100, 100, 10}},
		{"one unchanged begins anew", []int{100, 10, 10, 0, 10, 10, 10}, []int{100, 100, 100, 100, 100, 100, 10}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := NewState(hour, middling)
			for i, size := range c.sizes {
				var err error
				if size == 0 {
					s.Unchanged(s.Validators(), clockStart)
				} else {
					err = s.Take(sized(size), Validators{}, clockStart)
				}
				if got := s.List().Entries; got != c.taken[i] || size > 0 && (got != size) != errors.Is(err, ErrShrunk) {
					t.Fatalf("copy %d of %d: %d in force, want %d; %v", i, size, got, c.taken[i], err)
				}
			}
		})
	}
}

func TestAgeIsSinceTheServerSaidThatTheCopyIsTheNewest(t *testing.T) {
	s := NewState(hour, middling)
	if err := s.Take(sized(7), Validators{}, clockStart); err != nil {
		t.Fatal(err)
	}
	later := clockStart.Add(3 * hour)
	s.Unchanged(Validators{}, later)
	s.Fail(errors.New("no route"), later.Add(hour))
	if got := s.Status(later.Add(2 * hour)); got.Age != 2*hour || !got.Fetched.Equal(clockStart) || !got.Checked.Equal(later) {
		t.Errorf("%+v", got)
	}
}

func TestForceIsForOneCopy(t *testing.T) {
	s := NewState(hour, middling)
	for _, size := range []int{100, 100} {
		if err := s.Take(sized(size), Validators{}, clockStart); err != nil {
			t.Fatal(err)
		}
	}
	s.Force(clockStart)
	s.Fail(errors.New("no route"), clockStart)
	if err := s.Take(sized(30), Validators{}, clockStart); err != nil {
		t.Errorf("forced: %v", err)
	}
	if err := s.Take(sized(1), Validators{}, clockStart); !errors.Is(err, ErrShrunk) {
		t.Errorf("the next one is forced too: %v", err)
	}
}

// Whatever comes, the last good copy stays, with what the server calls it, and the next
// attempt is neither at once nor far away.
func TestALastGoodCopyIsNeverLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := clockStart
		interval := time.Duration(rapid.IntRange(1, 100_000).Draw(t, "interval")) * time.Second
		s := NewState(interval, func() float64 { return rapid.Float64Range(0, 0.999).Draw(t, "chance") })
		var good *List
		var called Validators
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			at = at.Add(time.Duration(rapid.IntRange(0, 1_000_000).Draw(t, "pass")) * time.Second)
			v := Validators{ETag: rapid.StringN(0, 3, -1).Draw(t, "etag")}
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0:
				l := sized(rapid.IntRange(1, 200).Draw(t, "entries"))
				if s.Take(l, v, at) == nil {
					good, called = l, v
				}
			case 1:
				s.Fail(errors.New("no route"), at)
			case 2:
				if good == nil {
					continue
				}
				s.Unchanged(v, at)
				called = v
			}
			if s.List() != good || s.Validators() != called {
				t.Fatalf("in force %v with %v, the last good is %v with %v", s.List(), s.Validators(), good, called)
			}
			if wait := s.Next().Sub(at); wait < min(interval, firstRetry)*8/10 || wait > interval*11/10 {
				t.Fatalf("interval %v, and the next attempt in %v", interval, wait)
			}
		}
	})
}
