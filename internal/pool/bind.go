package pool

import (
	"fmt"
	"iter"
	"slices"

	"github.com/realmgate/realmgate/internal/model"
)

// Bind returns a service's binding; where it has none, a place is found for it. Bindings that gave way are moved: take them
// out of the data plane, then install the new one if it is fresh; Unbind it when that fails (I6).
func (p *Pool) Bind(now model.Instant, service model.Name) (b Binding, moved []Binding, fresh bool, err error) {
	if slot, ok := p.bound[service]; ok {
		return p.table[slot].Binding, nil, false, nil
	}
	s := p.service(service)
	if s == nil {
		return Binding{}, nil, false, fmt.Errorf("bind %s: %w: no such service", service, ErrRequest)
	}
	p.Advance(now)
	i := p.gather(s)
	if i < 0 && p.restsEnough(s) {
		p.counts.refused.Add(1)
		return Binding{}, nil, false, fmt.Errorf("bind %s: %w", service, ErrRests)
	}
	if i < 0 {
		i = p.gentle(s)
	}
	if i < 0 {
		i = p.longest(now, s, &p.calm)
	}
	if i < 0 {
		i = p.longest(now, s, &p.busy)
	}
	if i < 0 {
		p.counts.exhausted.Add(1)
		return Binding{}, nil, false, fmt.Errorf("bind %s: %w", service, ErrExhausted)
	}
	slot := p.slot()
	if slot < 0 {
		p.counts.full.Add(1)
		return Binding{}, nil, false, fmt.Errorf("bind %s: %w", service, ErrFull)
	}
	moved = p.evict(i, s)
	return p.install(slot, i, s), moved, true, nil
}

// evict removes what clashes with the service on the place, and returns what the data plane has of it.
func (p *Pool) evict(i int32, s *Service) (moved []Binding) {
	for _, slot := range slices.Clone(p.clashes(i, s, -1, false)) {
		r := &p.table[slot]
		bound, stands := r.State == Bound, r.web && r.sessions > 0
		b := p.remove(slot)
		if stands {
			p.evicted.add(&evicted{id: b.ID, address: b.Address, owner: b.Service.identity(), zones: b.Service.Zones})
		}
		if bound {
			p.counts.moved.Add(1)
			moved = append(moved, b)
		}
	}
	return moved
}

// Place binds the services that have no binding, in the order SetServices was given, as far as that takes nothing from
// anybody. Install each in the data plane; Unbind those for which that fails.
func (p *Pool) Place(now model.Instant) (placed []Binding) {
	p.Advance(now)
	for _, s := range p.order {
		if _, ok := p.bound[s.Name]; ok {
			continue
		}
		i := p.gentle(s)
		if i < 0 {
			continue
		}
		slot := p.slot()
		if slot < 0 {
			p.counts.full.Add(1)
			return placed
		}
		placed = append(placed, p.install(slot, i, s))
	}
	return placed
}

// Unbind takes back a binding that the data plane could not take. If nobody was told of it the place is free at once,
// otherwise it rests.
func (p *Pool) Unbind(id uint64) (Binding, bool) {
	slot, ok := p.lookup(id)
	if !ok || p.table[slot].State != Bound {
		return Binding{}, false
	}
	p.round++
	return p.withdraw(slot), true
}

// Advance ends the rests that are over. Bind and Place do so by themselves.
func (p *Pool) Advance(now model.Instant) {
	for t, ok := p.places.rests.first(); ok && t.at <= now; t, ok = p.places.rests.first() {
		p.places.setRest(t.entry, 0)
	}
	p.round++
	for t, ok := p.rests.first(); ok && t.at <= now; t, ok = p.rests.first() {
		p.refresh(t.entry)
		r := &p.table[t.entry]
		switch {
		case !p.over(now, r.Used):
			p.rests.set(t.entry, r.Used.Add(p.options.Rest))
		case r.sessions > 0: // whose end begins another rest
			p.rests.set(t.entry, now.Add(p.options.Rest))
		default:
			p.remove(t.entry)
		}
	}
}

// NextEvent returns when Due or Advance has work next; it is in the past while something that Due returned is not
// reported.
func (p *Pool) NextEvent() (next model.Instant, ok bool) {
	for _, t := range []*timers{&p.Reservations.due, &p.rests, &p.places.rests} {
		if first, found := t.first(); found && (!ok || first.at < next) {
			next, ok = first.at, true
		}
	}
	return next, ok
}

// Binding returns a binding that is in the pool.
func (p *Pool) Binding(id uint64) (Binding, bool) {
	slot, ok := p.lookup(id)
	if !ok {
		return Binding{}, false
	}
	return p.table[slot].Binding, true
}

// Bindings yields every binding in the pool, resting ones included, in no order: what a later process adopts. The pool
// must not be changed meanwhile.
func (p *Pool) Bindings() iter.Seq[Binding] {
	return func(yield func(Binding) bool) {
		for i := range p.table {
			if p.table[i].live && !yield(p.table[i].Binding) {
				return
			}
		}
	}
}
