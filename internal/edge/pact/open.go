package pact

import (
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
)

// Open reserves number, tag and proxy address for what a host asked for. One that stands or is opening already is
// returned as it is, with fresh false.
func (s *Store) Open(now model.Instant, k Key, peer string) (p Pact, fresh bool, err error) {
	if e := s.byKey[k]; e != nil {
		return e.Pact, false, nil
	}
	e, err := s.reserve(now, k, peer, true)
	if err != nil {
		return Pact{}, false, err
	}
	return e.Pact, true, nil
}

// Accept makes a pact that a peer asked for, all at once; it is not one of those that its host asked for. Of a key that
// has one it settles the opening one, or widens the live one, whose Peer is another where the peer has lost it. After an
// error nothing has changed.
func (s *Store) Accept(now model.Instant, k Key, peer string, peerTag uint32, a Agreed) (Pact, error) {
	e := s.byKey[k]
	switch {
	case e != nil && (e.Peers != peer || e.State == Live && e.Other != a.Other):
		return Pact{}, ErrMoved
	case e != nil && e.State == Opening:
		return s.Settle(now, e.Number, peerTag, a)
	case e != nil:
		if e.Peer != peerTag { // the peer lost it and begins anew: only what it asks for now stands
			e.Peer, e.Out, e.In, e.Ping, e.Whole, e.Ways, e.Rule = peerTag, false, false, false, false, nil, [2]int{-1, -1}
		}
		return s.Widen(now, e.Number, a)
	}
	e, err := s.reserve(now, k, peer, false)
	if err != nil {
		return Pact{}, err
	}
	p, err := s.Settle(now, e.Number, peerTag, a)
	if err != nil {
		s.Cancel(now, e.Number)
	}
	return p, err
}

// reserve makes an opening pact.
func (s *Store) reserve(now model.Instant, k Key, peer string, asked bool) (*entry, error) {
	s.places.advance(now)
	e := &entry{Pact: Pact{Key: k, Peers: peer, Opened: now, Used: now, Rule: [2]int{-1, -1}}, asked: asked, place: -1}
	if e.prior = s.places.keptFor(k, 0, false); e.prior != nil {
		s.places.wake(e.prior) // it counts no longer
	}
	if err := s.fill(e); err != nil {
		if e.prior != nil {
			s.places.lay(now, e.prior)
		}
		return nil, err
	}
	s.enter(e)
	return e, nil
}

// fill finds number, tag and proxy address of an opening pact.
func (s *Store) fill(e *entry) (err error) {
	if err = s.quotas.refuse(e.Host, e.Peers, e.asked); err != nil {
		return err
	}
	var free bool
	if e.Own, free = s.numbers.take(); !free {
		return ErrExhausted
	}
	e.Number = uint16(e.Own)
	if e.prior != nil {
		e.Proxy = e.prior.pact.Proxy
	} else if e.Proxy, free = s.places.take(&s.options.Secret, e.Key); !free {
		s.numbers.free.push(int(e.Number))
		return ErrExhausted
	}
	return nil
}

// Settle makes an opening pact live, on what was agreed. Its proxy address may be another afterwards: one that rests for
// the key stood for another machine perhaps. After an error it is opening as before.
func (s *Store) Settle(now model.Instant, number uint16, peerTag uint32, a Agreed) (Pact, error) {
	e := s.numbered(number)
	if e == nil || e.State != Opening {
		return Pact{}, ErrGone
	}
	if e.prior != nil && e.prior.pact.Other != a.Other {
		if err := s.move(now, e, a.Other); err != nil {
			return Pact{}, err
		}
	}
	e.State, e.Peer, e.Other, e.prior, e.Used = Live, peerTag, a.Other, nil, now
	e.agree(now, a)
	s.timers.enter(e, e.dueAt(s.options.Idle))
	return e.Pact, nil
}

// move gives an opening pact another proxy address than one that rests for another machine of the same name.
func (s *Store) move(now model.Instant, e *entry, other uint64) error {
	s.places.advance(now)
	old, to := e.prior, s.places.keptFor(e.Key, other, true)
	var proxy netip.Addr
	if to != nil {
		s.places.wake(to)
		proxy = to.pact.Proxy
	} else {
		if err := s.quotas.refuse(e.Host, e.Peers, e.asked); err != nil { // the old one counts on
			return err
		}
		var free bool
		if proxy, free = s.places.take(&s.options.Secret, e.Key); !free {
			return ErrExhausted
		}
	}
	delete(s.byProxy, e.Proxy)
	e.Proxy, e.prior = proxy, to
	s.byProxy[proxy] = e
	s.places.lay(now, old)
	return nil
}

// Widen writes what was agreed later into a live pact: it may begin in both directions then.
func (s *Store) Widen(now model.Instant, number uint16, a Agreed) (Pact, error) {
	e := s.numbered(number)
	switch {
	case e == nil || e.State != Live:
		return Pact{}, ErrGone
	case e.Other != a.Other:
		return Pact{}, ErrMoved
	}
	e.Used = max(e.Used, now)
	e.agree(now, a)
	s.timers.hasten(e, e.dueAt(s.options.Idle))
	return e.Pact, nil
}

// agree writes what was agreed. Of a pact for both directions, the terms are those of the way in, which bound the peer.
func (e *entry) agree(now model.Instant, a Agreed) {
	e.Link, e.Vouched = a.Link, a.Vouched
	if a.In || !e.In {
		e.Terms = a.Terms
	}
	if a.Out {
		e.Out, e.Rule[0] = true, a.Rule
	}
	if a.In {
		e.In, e.Ping, e.Whole, e.Ways, e.Rule[1] = true, a.Ping, a.Whole, a.Ways, a.Rule
	}
	e.grant(now, a.Until)
}

// Cancel takes an opening pact back. Its proxy address was told to nobody: it is free at once, or rests on.
func (s *Store) Cancel(now model.Instant, number uint16) {
	e := s.numbered(number)
	if e == nil || e.State != Opening {
		return
	}
	s.leave(e)
	if e.prior != nil {
		s.places.lay(now, e.prior)
	} else {
		s.places.put(e.Proxy)
	}
}

// End takes a live pact out, and its proxy address rests until its last use + Rest. Say Used first what the kernel says,
// after it is out of the kernel. Why is not kept.
func (s *Store) End(now model.Instant, number uint16) (Pact, bool) {
	e := s.numbered(number)
	if e == nil || e.State != Live {
		return Pact{}, false
	}
	s.leave(e)
	e.State, e.Rests = Resting, e.Used.Add(s.options.Rest)
	s.places.lay(now, &rest{pact: e.Pact, asked: e.asked})
	return e.Pact, true
}

// enter counts a pact and makes it findable.
func (s *Store) enter(e *entry) {
	s.entries[e.Number], s.byProxy[e.Proxy] = e, e
	if e.Remote != "" {
		s.byKey[e.Key] = e
	}
	s.quotas.count(e.Pact, e.asked, 1)
}

// leave is the opposite of enter; what becomes of its proxy address is the caller's.
func (s *Store) leave(e *entry) {
	s.entries[e.Number] = nil
	delete(s.byProxy, e.Proxy)
	if s.byKey[e.Key] == e {
		delete(s.byKey, e.Key)
	}
	s.timers.leave(e)
	s.quotas.count(e.Pact, e.asked, -1)
	s.numbers.free.push(int(e.Number))
}
