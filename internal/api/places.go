package api

import (
	"errors"
	"fmt"
	"net/http"
)

// Places are those of requests without an end: Most at a time for all, and Kept besides for who may do more than read, as in an
// incident somebody has to look. A caller gets one more while it has fewer than are free for it: alone half of all, behind another
// half of what that has left. So a token may be shared by many. It has no lock.
type Places struct {
	Most, Kept int
	taken      int
	of         map[string]int // by caller
}

// Enter takes a place for a caller, until Leave.
func (p *Places) Enter(c Caller) error {
	caller, free := c.String(), p.Most-p.taken
	if c.Role > Read {
		free += p.Kept
	}
	has := p.of[caller]
	if has >= free {
		why := errors.New("all places are taken")
		if has > 0 {
			why = fmt.Errorf("%s has %d of %d places, and %d are kept for others", caller, has, p.Most, max(0, free))
		}
		return Fail(http.StatusServiceUnavailable, WithRemedy(why, "end one of them, or close a page"))
	}
	if p.of == nil {
		p.of = map[string]int{}
	}
	p.taken++
	p.of[caller]++
	return nil
}

// Leave gives a place back.
func (p *Places) Leave(c Caller) {
	caller := c.String()
	p.taken--
	if p.of[caller]--; p.of[caller] == 0 {
		delete(p.of, caller)
	}
}
