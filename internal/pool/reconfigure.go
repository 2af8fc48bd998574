package pool

import (
	"slices"

	"github.com/realmgate/realmgate/internal/model"
)

// Reconfigure changes everything but the table sizes. It returns the bindings withdrawn: those on addresses that are no
// longer listed, and those whose ports are Blocked now. Such an address is remembered until its rests are over, in case it
// is listed again; before it is used for anything else, wait until Bindings has nothing on it. New timers are for new
// reservations; a new Rest holds for everything that has not yet rested. Invalid options change nothing.
func (p *Pool) Reconfigure(now model.Instant, o Options) (withdrawn []Binding, err error) {
	o.Capacity, o.Bindings = p.options.Capacity, p.options.Bindings
	if err := o.validate(); err != nil {
		return nil, err
	}
	p.Advance(now)
	next := newPlaces(o.Addresses)
	for i := range p.places.table {
		pl := &p.places.table[i]
		if _, listed := next.index[pl.address]; !listed && pl.rest == 0 && pl.count == 0 {
			continue
		}
		j := next.reach(pl.address)
		next.leave(j)
		next.table[j].used = pl.used
		next.enter(j)
		if pl.rest != 0 {
			next.setRest(j, pl.rest)
		}
	}
	cursor := int32(0)
	if p.cursor > 0 {
		last := p.places.table[p.cursor-1].address
		cursor = int32(slices.Index(o.Addresses, last) + 1) // bounded by model.MaxPoolAddresses
	}
	p.options, p.places, p.cursor = o, next, cursor
	p.counts.places.Store(next.tally)
	for slot := range p.table {
		if r := &p.table[slot]; r.live {
			r.place = next.index[r.Address]
			p.link(int32(slot)) // bounded by MaxBindings
			if r.State == Resting {
				p.rests.set(int32(slot), r.Used.Add(o.Rest))
			}
		}
	}
	for slot := range p.table {
		if r := &p.table[slot]; r.live && r.State == Bound && (next.table[r.place].retired || p.blocked(r.place, &r.Service)) {
			withdrawn = append(withdrawn, p.withdraw(int32(slot))) // bounded by MaxBindings
		}
	}
	return withdrawn, nil
}
