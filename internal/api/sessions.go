package api

import (
	"container/heap"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
)

var sessionType = reflect.TypeFor[Session]()

// sessions answers with a page of them. They are walked through where they are: a million of them need no memory here.
func (h handler) sessions(w http.ResponseWriter, r *http.Request, query url.Values) error {
	lines := inLines(r)
	page, err := takePage(query, lines)
	if err != nil {
		return failed(err)
	}
	after, err := page.cursor()
	if err != nil {
		return failed(err)
	}
	filter, err := wantFilter(query)
	if err != nil {
		return err
	}
	switch {
	case page.Sort != "":
		return h.sortedSessions(w, r, filter, page, after, lines)
	case lines:
		return h.sessionLines(w, r, filter, page, after)
	}
	sessions, next := make([]Session, 0, page.Limit), ""
	err = h.gateway.Sessions(filter, after.At, func(s Session) bool {
		if len(sessions) == page.Limit { // there is one more, for the next page
			next = cursor{At: sessions[page.Limit-1].Number}.String()
			return false
		}
		sessions = append(sessions, s)
		return true
	})
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, answeredPage{sessions, next})
}

func (h handler) sessionLines(w http.ResponseWriter, r *http.Request, filter Filter, page Page, after cursor) error {
	s := newStream(w, r)
	last := after.At
	return s.finish(h.gateway.Sessions(filter, after.At, func(session Session) bool {
		if page.Limit > 0 && s.lines == page.Limit {
			s.add(More{cursor{At: last}.String()})
			return false
		}
		last = session.Number
		return s.addSession(&session)
	}))
}

// sortedSessions answers with the first of an order, after a cursor. It holds no more than a page of them.
func (h handler) sortedSessions(w http.ResponseWriter, r *http.Request, filter Filter, page Page, after cursor, lines bool) error {
	o, err := orderOf(sessionType, page.Sort, nil)
	if err != nil {
		return failed(err)
	}
	first := firstSessions{order: o, limit: MostRows}
	if page.Limit > 0 {
		first.limit = min(page.Limit, MostRows)
	}
	if after.Row != nil {
		place, err := o.place(after.Row)
		if err != nil {
			return failed(fmt.Errorf("cursor: %w", err))
		}
		first.after = place.Addr().Interface().(*Session)
		first.after.Number = after.At
	}
	if err := h.gateway.Sessions(filter, 0, first.add); err != nil {
		return err
	}
	sessions, next := first.sorted(), ""
	if first.more {
		last := &sessions[len(sessions)-1]
		next = cursor{Sort: page.Sort, At: last.Number, Row: o.mark(reflect.ValueOf(last).Elem())}.String()
	}
	if !lines {
		return reply(w, http.StatusOK, answeredPage{sessions, next})
	}
	s := newStream(w, r)
	for i := range sessions {
		if !s.addSession(&sessions[i]) {
			break
		}
	}
	if next != "" {
		s.add(More{next})
	}
	return s.finish(nil)
}

// firstSessions are the first of an order after one, as many as limit. It is a heap, with the last of them on top.
type firstSessions struct {
	order
	after *Session // nil: none
	limit int
	kept  []Session
	more  bool // there are others
}

func (f *firstSessions) compare(x, y *Session) int {
	c := f.order.compare(reflect.ValueOf(x).Elem(), reflect.ValueOf(y).Elem())
	if c == 0 {
		return int(x.Number) - int(y.Number)
	}
	return c
}

func (f *firstSessions) add(s Session) bool {
	switch {
	case f.after != nil && f.compare(&s, f.after) <= 0:
	case len(f.kept) < f.limit:
		heap.Push(f, s)
	default:
		f.more = true
		if f.compare(&s, &f.kept[0]) < 0 {
			f.kept[0] = s
			heap.Fix(f, 0)
		}
	}
	return true
}

// sorted returns them in their order, and has none any more.
func (f *firstSessions) sorted() []Session {
	sessions := make([]Session, len(f.kept))
	for i := len(sessions) - 1; i >= 0; i-- {
		sessions[i] = heap.Pop(f).(Session)
	}
	return sessions
}

// These implement heap.Interface.

func (f *firstSessions) Len() int           { return len(f.kept) }
func (f *firstSessions) Less(i, j int) bool { return f.compare(&f.kept[i], &f.kept[j]) > 0 }
func (f *firstSessions) Swap(i, j int)      { f.kept[i], f.kept[j] = f.kept[j], f.kept[i] }
func (f *firstSessions) Push(s any)         { f.kept = append(f.kept, s.(Session)) }
func (f *firstSessions) Pop() any {
	last := f.kept[len(f.kept)-1]
	f.kept = f.kept[:len(f.kept)-1]
	return last
}
