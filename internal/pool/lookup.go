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
