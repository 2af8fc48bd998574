package link

import (
	"fmt"
	"time"

	"github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/model"
)

const answersMost = 1024 // of one peer's opens, or to ours, that are remembered

// exchanges are the opens of both sides, and their answers. They belong to the peer, not to a connection. peer.mu is held.
type exchanges struct {
	asks    map[uint64]*ask
	answers recent // to the peer's opens
	taken   recent // of its answers
}

func newExchanges(keep time.Duration, now func() model.Instant) exchanges {
	memory := func() recent { return recent{keep: keep, now: now, of: map[uint64]remembered{}} }
	return exchanges{asks: map[uint64]*ask{}, answers: memory(), taken: memory()}
}

// abandon forgets an ask, and says whether it was still without an answer.
func (x *exchanges) abandon(a *ask) bool {
	waits := x.asks[a.open.ID] == a
	if waits {
		delete(x.asks, a.open.ID)
	}
	return waits
}

// asked are the opens without an answer that a connection has not sent yet, as frames that it sends now.
func (x *exchanges) asked(c *connection) (frames []byte) {
	for _, a := range x.asks {
		if a.on != c {
			frames, a.on = append(frames, a.frame...), c
		}
	}
	return frames
}

// fail ends every ask: nobody is there who could answer.
func (x *exchanges) fail(why error) {
	for id, a := range x.asks {
		delete(x.asks, id)
		a.failed <- fmt.Errorf("%w: %w", ErrNoLink, why)
	}
}

// take gives an answer to who waits for it. It says whether the handler is to have it instead.
func (x *exchanges) take(id uint64, m wire.Message) bool {
	_, more := m.(wire.More)
	a := x.asks[id]
	switch {
	case a != nil && more && a.open.Round > 1: // that of the first round, sent again
		return false
	case a != nil:
		delete(x.asks, id)
		x.taken.put(id, exchange{})
		a.answer <- m
		return false
	}
	_, again := x.taken.get(id)
	return !again
}

// again says whether an open has come before, by another connection, and what was answered; nil: nothing yet.
func (x *exchanges) again(m wire.Open) (wire.Message, bool) {
	e, known := x.answers.get(m.ID)
	switch {
	case !known || m.Round > e.round:
		x.answers.put(m.ID, exchange{round: m.Round})
		return nil, false
	case m.Round < e.round:
		return nil, true
	}
	return e.answer, true
}

// answered remembers what we answer.
func (x *exchanges) answered(m wire.Message) {
	id, is := answers(m)
	if !is {
		return
	}
	if e, known := x.answers.get(id); known {
		x.answers.put(id, exchange{round: e.round, answer: m})
	}
}

// answers is the open that a message answers.
func answers(m wire.Message) (id uint64, is bool) {
	switch m := m.(type) {
	case wire.Accept:
		return m.ID, true
	case wire.More:
		return m.ID, true
	case wire.Refuse:
		return m.ID, true
	}
	return 0, false
}

// exchange is what was answered to an open of a peer; nil: nothing yet.
type exchange struct {
	round  int
	answer wire.Message
}

// recent remembers what was put last, each for a time; of more than it holds, the oldest goes.
type recent struct {
	keep  time.Duration
	now   func() model.Instant
	order []uint64 // oldest first; one that was put again is in it once
	of    map[uint64]remembered
}

type remembered struct {
	exchange
	until model.Instant
}

func (r *recent) put(id uint64, e exchange) {
	if _, known := r.of[id]; !known {
		r.order = append(r.order, id)
	}
	r.of[id] = remembered{e, r.now().Add(r.keep)}
	for len(r.order) > answersMost || r.of[r.order[0]].until.Before(r.now()) {
		delete(r.of, r.order[0])
		r.order = r.order[1:]
	}
}

func (r *recent) get(id uint64) (exchange, bool) {
	e, known := r.of[id]
	return e.exchange, known && !e.until.Before(r.now())
}

func (r *recent) forget() { r.order, r.of = nil, map[uint64]remembered{} }
