package pool

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/model"
)

// What adoption can fail with; the record must then leave the data plane.
var (
	ErrNotInPool = errors.New("not in the pool")
	ErrConflict  = errors.New("conflicts with another record")
	ErrRecord    = errors.New("impossible record")
)

// Adopt takes over a binding of an earlier process, Bound or Resting, with its ID: call it before SetServices, which then
// withdraws what no longer stands. Who does not know when it was used last says now. Resting ones are remembered of
// addresses that are not listed, too; one whose rest is over is forgotten. A record that fails stays out, and the pool is
// as before.
func (p *Pool) Adopt(now model.Instant, b Binding) error {
	p.Advance(now)
	b.Service = b.Service.normal()
	b.Used, b.Answered = min(b.Used, now), min(b.Answered, now) // of another clock: it rests from now on
	slot := uint32(b.ID)
	switch {
	case int64(slot) >= int64(p.options.Bindings) || b.ID>>32 == 0:
		return fmt.Errorf("adopt binding %#x: %w: the ID fits no slot", b.ID, ErrRecord)
	case b.State != Bound && b.State != Resting || !b.Service.valid() || !b.Address.IsValid():
		return fmt.Errorf("adopt binding %#x: %w", b.ID, ErrRecord)
	case int64(slot) < int64(len(p.table)) && p.table[slot].live:
		return fmt.Errorf("adopt binding %#x: %w in slot %d", b.ID, ErrConflict, slot)
	}
	var err error
	if b.State == Bound {
		err = p.adoptBound(now, &b)
	} else if p.forgotten(now, &b) {
		return nil
	} else {
		err = p.adoptResting(&b)
	}
	if err != nil {
		return fmt.Errorf("adopt binding %#x of %s on %s: %w", b.ID, b.Service.Name, b.Address, err)
	}
	for len(p.table) <= int(slot) {
		p.spare = append(p.spare, int32(len(p.table))) // bounded by MaxBindings
		p.table = append(p.table, record{})
	}
	p.put(int32(slot), p.places.reach(b.Address), b) // below MaxBindings
	return nil
}

// adoptBound makes room for a bound record: what clashes with it may only be a rest that was over when its place moved,
// though sessions stood.
func (p *Pool) adoptBound(now model.Instant, b *Binding) error {
	i, ok := p.places.index[b.Address]
	if !ok || p.places.table[i].retired {
		return ErrNotInPool
	}
	if _, twice := p.bound[b.Service.Name]; twice {
		return fmt.Errorf("%w: the service is bound", ErrConflict)
	}
	if p.services != nil { // too late for SetServices to see to it
		s := p.service(b.Service.Name)
		if s == nil || !s.sameHost(&b.Service) || !slices.Equal(s.Ports, b.Service.Ports) {
			return fmt.Errorf("%w: the service is another", ErrConflict)
		}
	}
	p.round++
	for _, other := range p.clashes(i, &b.Service, -1, false) {
		p.refresh(other)
		if r := &p.table[other]; r.State == Bound || !p.over(now, r.Used) {
			return fmt.Errorf("%w: %s has its ports", ErrConflict, r.Service.Name)
		}
	}
	p.evict(i, &b.Service)
	return nil
}

// forgotten reports a rest that is over.
func (p *Pool) forgotten(now model.Instant, b *Binding) bool {
	sessions := 0
	if p.options.Use != nil {
		var used model.Instant
		used, sessions = p.options.Use(b.ID)
		b.Used = max(b.Used, used)
	}
	return sessions == 0 && p.over(now, b.Used)
}

// adoptResting refuses a rest on what another owner has by now. Rests of several owners may lie on one port: that keeps
// more away than need be, and nobody whom it should let in.
func (p *Pool) adoptResting(b *Binding) error {
	i, ok := p.places.index[b.Address]
	if !ok {
		return nil
	}
	for _, other := range p.clashes(i, &b.Service, -1, false) {
		if r := &p.table[other]; r.State == Bound && r.Service.identity() != b.Service.identity() {
			return fmt.Errorf("%w: %s has its ports", ErrConflict, r.Service.Name)
		}
	}
	return nil
}

// Adopt takes over an Active reservation of an earlier process, after its binding. What is over is due at once.
func (rs *Reservations) Adopt(now model.Instant, r Reservation) error {
	e := uint32(r.ID)
	slot, ok := rs.lookup(r.Binding)
	switch {
	case int64(e) >= int64(rs.options.Capacity) || r.ID>>32 == 0:
		return fmt.Errorf("adopt reservation %#x: %w: the ID fits no entry", r.ID, ErrRecord)
	case r.State != Active || r.Claims < 0:
		return fmt.Errorf("adopt reservation %#x: %w", r.ID, ErrRecord)
	case int64(e) < int64(len(rs.entries)) && rs.entries[e].live:
		return fmt.Errorf("adopt reservation %#x: %w in entry %d", r.ID, ErrConflict, e)
	case !ok || rs.table[slot].State != Bound:
		return fmt.Errorf("adopt reservation %#x: binding %#x: %w", r.ID, r.Binding, ErrNotInPool)
	}
	for len(rs.entries) <= int(e) {
		rs.vacancies = append(rs.vacancies, int32(len(rs.entries))) // bounded by MaxCapacity
		rs.entries = append(rs.entries, entry{})
	}
	r.Granted = min(max(r.Granted, 1), MaxClaims)
	rs.enter(int32(e), r, slot)                // below MaxCapacity
	rs.entries[e].used = r.Claims != r.Granted // fewer: claimed; more: a resolver's
	rs.touch(slot, min(r.Created, now))
	return nil
}

// Rest keeps everybody from an address of which nothing is known until then.
func (p *Pool) Rest(now model.Instant, address netip.Addr, until model.Instant) {
	if until <= now {
		return
	}
	i := p.places.reach(address)
	p.places.setRest(i, max(until, p.places.table[i].rest))
}

// Rests returns until when Rest keeps everybody from an address, 0 if it does not.
func (p *Pool) Rests(address netip.Addr) model.Instant {
	i, ok := p.places.index[address]
	if !ok {
		return 0
	}
	return p.places.table[i].rest
}
