package pool

import (
	"errors"
	"fmt"

	"github.com/realmgate/realmgate/internal/model"
)

// What adoption can fail with; the record must then leave the data plane.
var (
	ErrNotInPool = errors.New("address is not in the pool")
	ErrConflict  = errors.New("conflicts with another reservation")
	ErrRecord    = errors.New("impossible record")
)

// Adopt takes over a reservation of an earlier process from the data plane:
// Offered, Claimed or, to go on with a quarantine, Expired or Cancelled. It keeps
// its ID. Quarantines are remembered of addresses that are not listed, too.
// What is already over is due at once. A record that fails stays out, and the
// pool is as before.
func (p *Pool) Adopt(now model.Instant, r Reservation) error {
	p.Advance(now)
	slot := uint32(r.ID)
	switch {
	case int64(slot) >= int64(p.options.Capacity) || r.Generation == 0 || uint64(r.Generation) != r.ID>>32:
		return fmt.Errorf("adopt reservation %#x: %w: the ID fits neither generation nor table", r.ID, ErrRecord)
	case r.State < Offered || r.State > Cancelled || !r.Host.IsValid() || r.Again < 0 ||
		r.State == Offered && (r.Claims < 0 || r.Claims > MaxClaims):
		return fmt.Errorf("adopt reservation %#x: %w", r.ID, ErrRecord)
	case int64(slot) < int64(len(p.entries)) && p.entries[slot].live:
		return fmt.Errorf("adopt reservation %#x: %w in entry %d", r.ID, ErrConflict, slot)
	}
	i, ok := p.places.index[r.Address]
	if !r.quarantined() && (!ok || p.places.table[i].retired) {
		return fmt.Errorf("adopt reservation %#x: %s: %w", r.ID, r.Address, ErrNotInPool)
	}
	if !ok {
		p.places.append(r.Address, true)
		i = p.places.index[r.Address]
	}
	for o := p.places.table[i].first; o >= 0; o = p.entries[o].next {
		if other := &p.entries[o].Reservation; p.clash(&r, other) {
			return fmt.Errorf("adopt reservation %#x: %w, %#x on %s", r.ID, ErrConflict, other.ID, r.Address)
		}
	}
	p.reach(int32(slot)) // below MaxCapacity
	e := &p.entries[slot]
	e.Reservation = r
	e.Granted = min(max(r.Granted, r.Claims, 1), MaxClaims)
	e.used = r.State == Offered && r.Claims < e.Granted
	if e.used {
		// When the claim was is not known: not before creation, not after now.
		e.lastClaim = now
	}
	p.attach(int32(slot), i) // below MaxCapacity
	return nil
}

// clash reports whether two reservations, quarantines included, may not be on
// one address.
func (p *Pool) clash(a, b *Reservation) bool {
	if a.quarantined() || b.quarantined() {
		return a.Host != b.Host && a.Conflicts(b)
	}
	return a.Conflicts(b)
}

// reach extends the table up to entry e.
func (p *Pool) reach(e int32) {
	for int(e) >= len(p.entries) {
		p.vacant = append(p.vacant, int32(len(p.entries))) // below MaxCapacity
		p.entries = append(p.entries, entry{})
	}
}
