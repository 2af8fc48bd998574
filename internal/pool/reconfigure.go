package pool

import (
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/model"
)

// Reconfigure changes everything but the capacity. It returns the offers and
// holds on addresses that are no longer listed, withdrawn: take their records
// out of the data plane. Others stay as they are, and new timers are for new
// reservations. Invalid options change nothing.
func (p *Pool) Reconfigure(now model.Instant, o Options) (withdrawn []Reservation, err error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	p.Advance(now)
	o.Capacity = p.options.Capacity
	listed := make(map[netip.Addr]bool, len(o.Addresses))
	for _, a := range o.Addresses {
		listed[a] = true
	}
	for e := range p.entries {
		n := &p.entries[e]
		if n.live && !listed[n.Address] && !n.quarantined() {
			withdrawn = append(withdrawn, p.withdraw(int32(e), now)) // bounded by MaxCapacity
		}
	}
	// An address whose quarantines are not over is remembered: it may be
	// listed again before they are.
	next := int32(0)
	if p.cursor > 0 {
		last := p.places.table[p.cursor-1].address
		next = int32(slices.Index(o.Addresses, last) + 1) // bounded by MaxAddresses
	}
	p.options, p.places, p.cursor = o, newPlaces(o.Addresses), next
	for e := range p.entries {
		n := &p.entries[e]
		if !n.live {
			continue
		}
		i, ok := p.places.index[n.Address]
		if !ok {
			p.places.append(n.Address, true)
			i = p.places.index[n.Address]
		}
		n.place = i
		p.link(int32(e), i) // bounded by MaxCapacity
	}
	return withdrawn, nil
}
