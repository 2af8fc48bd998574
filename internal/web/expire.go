package web

import (
	"container/list"
	"errors"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// mostExpired are done at a time, while what has just come waits.
const mostExpired = 32

// expire ends what had waited too long by then, and forgets what was over. It reports whether there is more of that to do.
func (t *table) expire(then, now model.Instant) (more bool, err error) {
	for range mostExpired {
		c := t.due(then)
		if c == nil {
			t.early.expire(now)
			return false, err
		}
		switch {
		case c.in == &t.reading:
			err = errors.Join(err, t.end(c, now, reasonLate, nil))
		case c.in == &t.connecting:
			err = errors.Join(err, t.end(c, now, reasonRefused, nil))
		case c.in == &t.ordering:
			t.queue(c, &t.resting)
			err = errors.Join(err, t.settle(c))
		case c.phase == phaseOpen && c.mayRepeat():
			c.until = now.Add(restTime)
			t.queue(c, &t.resting)
			err = errors.Join(err, c.repeat(t.kernel))
		default:
			err = errors.Join(err, t.forget(c))
		}
	}
	return true, err
}

// due is one whose time was over by then. In each list that is the first, if any: however many wait, looking costs the same.
// Those that have opened are first: they take the least time, and the data plane keeps their order so long.
func (t *table) due(then model.Instant) *connection {
	if c := oldest(&t.ordering); c != nil && !then.Before(c.until.Add(orderTime-restTime)) {
		return c
	}
	if c := oldest(&t.reading); c != nil && then.Sub(c.began) >= time.Duration(t.patience()) {
		return c
	}
	if c := oldest(&t.connecting); c != nil && !then.Before(c.until) {
		return c
	}
	if c := oldest(&t.resting); c != nil && !then.Before(c.until) {
		return c
	}
	return nil
}

// dismiss tells clients who wait, and keep their first segments no more, that nobody does: the next daemon does not know them.
func (t *table) dismiss() (err error) {
	for _, c := range t.all {
		if c.acknowledged && (c.phase == phaseReading || c.phase == phaseConnecting) {
			err = errors.Join(err, c.tell(t.kernel, nil))
		}
	}
	return err
}

func oldest(of *list.List) *connection {
	if of.Len() == 0 {
		return nil
	}
	return of.Front().Value.(*connection)
}
