package pact

import (
	"fmt"
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
)

// Adopt takes in a pact of an earlier Store: a live one as it stands in the kernel, or an address that rests. A live one
// whose names nobody knows has none, until Named. Quotas do not refuse it, and count it.
func (s *Store) Adopt(now model.Instant, p Pact) error {
	s.places.advance(now)
	if p.State == Resting {
		s.numbers.had(p.Own)
		return s.places.adopt(now, p, s.byProxy[p.Proxy] != nil)
	}
	place, inRange := s.places.indexOf(p.Proxy)
	resting := s.places.resting[p.Proxy]
	if resting != nil && resting.pact.Own == p.Own { // it was ended, but not yet in the kernel
		p.Key, p.Other, p.Peers = resting.pact.Key, resting.pact.Other, resting.pact.Peers
	}
	switch {
	case p.State != Live:
		return fmt.Errorf("pact %#08x %w: it was never settled", p.Own, ErrAdopt)
	case p.Number == 0 || int(p.Number) >= len(s.entries) || uint16(p.Own) != p.Number || s.entries[p.Number] != nil:
		return fmt.Errorf("pact %#08x %w: number %d is none or taken", p.Own, ErrAdopt, p.Number)
	case !inRange || s.byProxy[p.Proxy] != nil:
		return fmt.Errorf("pact %#08x %w: proxy address %v is not in the range or taken", p.Own, ErrAdopt, p.Proxy)
	case p.Remote != "" && s.byKey[p.Key] != nil:
		return fmt.Errorf("pact %#08x %w: %v and %s have another", p.Own, ErrAdopt, p.Host, p.Remote)
	case resting != nil && (resting.pact.Key != p.Key || resting.pact.Other != p.Other):
		return fmt.Errorf("pact %#08x %w: proxy address %v rests for another", p.Own, ErrAdopt, p.Proxy)
	}
	if resting != nil {
		s.places.wake(resting)
	}
	s.places.free.remove(place)
	s.numbers.free.remove(int(p.Number))
	s.numbers.had(p.Own)
	e := &entry{Pact: p, asked: p.Out, place: -1}
	e.grant(now, p.Until)
	s.enter(e)
	s.timers.enter(e, e.dueAt(s.options.Idle))
	return nil
}

// Named says whose pact it is that was adopted without names.
func (s *Store) Named(number uint16, k Key, other uint64, peer string) error {
	e := s.numbered(number)
	switch {
	case e == nil || e.Remote != "" || e.Host != k.Host:
		return fmt.Errorf("pact %d: %w without names for %v", number, ErrGone, k.Host)
	case s.byKey[k] != nil:
		return fmt.Errorf("pact %d %w: %v and %s have another", number, ErrAdopt, k.Host, k.Remote)
	}
	s.quotas.count(e.Pact, e.asked, -1)
	e.Key, e.Other, e.Peers = k, other, peer
	s.quotas.count(e.Pact, e.asked, 1)
	s.byKey[k] = e
	return nil
}

// Reconfigure changes range, times and quotas; Most stays as it is, and so does what is drawn. It ends the live pacts
// whose proxy address is in the range no longer, and returns them; opening ones among them are cancelled. Addresses that
// rest do so for as long as was promised, or as Rest says now, whichever is longer.
func (s *Store) Reconfigure(now model.Instant, o Options) (ended []Pact) {
	s.places.advance(now)
	o.Most, o.Random = s.options.Most, s.options.Random
	s.options = o
	s.quotas.perHost, s.quotas.perEdge = o.PerHost, o.PerEdge
	if o.Proxy != s.places.prefix {
		s.places.cover(o.Proxy, func(a netip.Addr) bool { return s.byProxy[a] != nil })
		for _, e := range s.entries {
			if e == nil {
				continue
			}
			if _, inRange := s.places.indexOf(e.Proxy); inRange {
				continue
			}
			if p, wasLive := s.End(now, e.Number); wasLive {
				ended = append(ended, p)
			} else {
				s.Cancel(now, e.Number)
			}
		}
	}
	s.places.prolong(o.Rest)
	for _, e := range s.entries {
		switch {
		case e == nil:
		case e.State == Live:
			s.timers.hasten(e, e.dueAt(s.options.Idle))
		case e.prior != nil:
			e.prior.prolong(o.Rest)
		}
	}
	return ended
}
