package pact

import (
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// A lease is to be prolonged at its half, and again at half of what is left; it is over at its end. A use puts off idleness
// alone.
func TestLeases(t *testing.T) {
	t.Parallel()
	o := options()
	o.Idle = 10 * time.Minute
	s := New(o)
	p := stand(t, s, 0, key(1, "hostb.b.example."), 1)
	s.Renew(0, p.Number, 1000*second)
	for _, c := range []struct {
		at                model.Instant
		renew, idle, over int
	}{
		{499, 0, 0, 0}, {500, 1, 0, 0}, {500, 0, 0, 0}, {749, 0, 1, 0}, {750, 0, 1, 0}, {876, 0, 1, 0}, {999, 0, 1, 0}, {1000, 0, 0, 1}, {1000, 0, 0, 0}, {1001, 0, 0, 1},
	} {
		if c.at == 749 {
			s.Used(p.Number, 100*second) // and older news change nothing
			s.Used(p.Number, 50*second)
		}
		renew, idle, over := s.Due(c.at * second)
		if len(renew) != c.renew || len(idle) != c.idle || len(over) != c.over {
			t.Errorf("at %d: %d to renew, %d idle, %d over; want %+v", c.at, len(renew), len(idle), len(over), c)
		}
	}
	p = stand(t, s, 2000*second, key(2, "hostb.b.example."), 1)
	s.Renew(2000*second, p.Number, 3000*second)
	for at := model.Instant(2000); at <= 3001; at++ {
		s.Answered(at*second, p.Number)
	}
	for _, c := range []struct{ at, next model.Instant }{{2500, 2750}, {2750, 2875}, {2876, 2938}} {
		if renew, idle, over := s.Due(c.at * second); len(renew) != 1 || len(idle) > 0 || len(over) > 1 {
			t.Errorf("at %d: %d to renew, %d idle", c.at, len(renew), len(idle))
		}
		if next := s.numbered(p.Number).dueAt(o.Idle); next != c.next*second {
			t.Errorf("after %d, next at %v s, want %d", c.at, next/second, c.next)
		}
	}
	s.Renew(2900*second, p.Number, 4000*second)
	if renew, _, _ := s.Due(2940 * second); len(renew) != 0 {
		t.Error("a prolonged lease is to be prolonged at once")
	}
	s.Renew(2950*second, p.Number, 2960*second) // and may be cut
	if _, _, over := s.Due(2960 * second); len(over) != 2 {
		t.Errorf("a lease that was cut: %d are over, want both", len(over))
	}
	s.End(2961*second, p.Number)
	if _, found := s.ByKey(p.Key); found {
		t.Error("it stands after its end")
	}
}
