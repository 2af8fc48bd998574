package api

import (
	"errors"
	"fmt"
	"net/http"
)

// Places are those of requests without an end: Most at a time. A caller gets one more while it has fewer than are free: alone half
// of all, behind another half of what that has left. So a token may be shared by many, and keeps nobody out. It has no lock.
type Places struct {
	Most  int
	taken int
	of    map[string]int // by caller
}

// Enter takes a place for a caller, until Leave.
func (p *Places) Enter(caller string) error {
	free := p.Most - p.taken
	why := errors.New("all places are taken")
	if has := p.of[caller]; has > 0 {
		why = fmt.Errorf("%s has %d of %d places, and %d are kept for others", caller, has, p.Most, free)
	}
	if p.of[caller] >= free {
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
func (p *Places) Leave(caller string) {
	p.taken--
	if p.of[caller]--; p.of[caller] == 0 {
		delete(p.of, caller)
	}
}
