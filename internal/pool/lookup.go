package pool

import (
	"iter"
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
)

// Standing returns the binding that a service has, if it has one.
func (p *Pool) Standing(service model.Name) (Binding, bool) {
	slot, ok := p.bound[service]
	if !ok {
		return Binding{}, false
	}
	return p.table[slot].Binding, true
}

// At yields the bindings of an address, resting ones included, in no order. The pool must not be changed meanwhile.
func (p *Pool) At(address netip.Addr) iter.Seq[Binding] {
	return func(yield func(Binding) bool) {
		i, ok := p.places.index[address]
		if !ok {
			return
		}
		for slot := p.places.table[i].first; slot >= 0; slot = p.table[slot].next {
			if !yield(p.table[slot].Binding) {
				return
			}
		}
	}
}

// EachAt calls visit for the bindings of the addresses from one place of Options.Addresses to before another, resting ones
// included, and with nil for an address that rests whole. visit must not change them, nor the pool.
func (p *Pool) EachAt(from, to int, visit func(at int, b *Binding)) {
	for at := from; at < to; at++ {
		pl := &p.places.table[at]
		if pl.rest != 0 {
			visit(at, nil)
		}
		for slot := pl.first; slot >= 0; slot = p.table[slot].next {
			visit(at, &p.table[slot].Binding)
		}
	}
}

// Offered calls visit for those that stand at now among the entries from one to before another, with the place of their
// addresses in Options.Addresses, and says how many entries there are.
func (rs *Reservations) Offered(now model.Instant, from, to int, visit func(at int)) (entries int) {
	for i := from; i < min(to, len(rs.entries)); i++ {
		e := &rs.entries[i]
		if !e.live || e.Expires <= now {
			continue
		}
		if slot, ok := rs.lookup(e.Binding); ok && int(rs.table[slot].place) < rs.places.listed {
			visit(int(rs.table[slot].place))
		}
	}
	return len(rs.entries)
}
