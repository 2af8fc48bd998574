package allocation

import (
	"bytes"
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/pool"
)

const (
	lookEvery = 100 * time.Millisecond // while somebody watches
	lookAt    = 512                    // places under one lock: no question waits for longer
	// wholeAbove is the part of all addresses, one in so many, beyond which all are told: that is shorter.
	wholeAbove = 8
	// lingers is for how long an address is shown as claimed after its last session: a fetch may take less than a look.
	lingers = 3 * time.Second
)

// ring is what the addresses were used for at the last look, and which of that is not told yet. What it tells is in the order
// of the configuration.
type ring struct {
	*state
	looking   sync.Mutex // held over a look, guards what follows; the mutex of all is taken within it for moments
	addresses []netip.Addr
	states    []byte    // a letter of api.PoolMap for each
	next      []byte    // of the look under way
	uses      []slotUse // by the slots of bindings
	dirty     []bool    // by place
	changed   []int     // those that are dirty
	number    uint64    // of the last change that was told
	anew      bool      // the addresses are others than were told
}

// slotUse is what the data plane knows of a binding.
type slotUse struct {
	id       uint64
	used     model.Instant
	sessions int
}

// weights order the letters: of what an address is used for at the same time it shows the last.
var weights = [256]uint8{api.PoolFree: 0, api.PoolBound: 1, api.PoolResting: 2, api.PoolClaimed: 3, api.PoolOffered: 4}

// PoolMap is what each address is used for.
func (r *ring) PoolMap() (api.PoolMap, error) {
	r.looking.Lock()
	defer r.looking.Unlock()
	if err := r.look(); err != nil {
		return api.PoolMap{}, err
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return api.PoolMap{
		Number: r.number, Ranges: rangesOf(r.addresses), States: string(r.states),
		Offer: r.config.Pool.ReservationTimeout.Seconds(), Rest: r.config.Pool.Rest.Seconds(),
	}, nil
}

// rangesOf writes addresses that follow each other as one range.
func rangesOf(addresses []netip.Addr) []api.PoolRange {
	ranges := []api.PoolRange{}
	var next netip.Addr
	for _, a := range addresses {
		if n := len(ranges); n > 0 && a == next {
			ranges[n-1].Count++
		} else {
			ranges = append(ranges, api.PoolRange{First: a, Count: 1})
		}
		next = a.Next()
	}
	return ranges
}

// TellPool tells which addresses are used for something else than before, a few times a second at most, until ctx ends.
func (r *ring) TellPool(ctx context.Context, tell func(...any)) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		change, err := r.poolChange()
		if err != nil {
			return err
		}
		if change.Number > 0 {
			tell(change)
		}
	}
}

// poolChange looks, and takes what is to be told; its number is 0 where that is nothing.
func (r *ring) poolChange() (api.PoolChange, error) {
	r.looking.Lock()
	defer r.looking.Unlock()
	if err := r.look(); err != nil {
		return api.PoolChange{}, err
	}
	if len(r.changed) == 0 && !r.anew {
		return api.PoolChange{}, nil
	}
	r.number++
	c := api.PoolChange{Number: r.number, Anew: r.anew}
	switch {
	case r.anew:
	case len(r.changed) > len(r.states)/wholeAbove:
		c.States = string(r.states)
	default:
		states := make([]byte, len(r.changed))
		for i, at := range r.changed {
			states[i] = r.states[at]
		}
		c.At, c.States = r.changed, string(states)
	}
	for _, at := range r.changed {
		r.dirty[at] = false
	}
	r.changed, r.anew = nil, false
	return c, nil
}

// look has the states be those of now.
func (r *ring) look() error {
	clear(r.uses)
	err := r.options.Plane.BindingUses(func(id uint64, used model.Instant, sessions int) {
		slot := int(uint32(id))
		for slot >= len(r.uses) {
			r.uses = append(r.uses, slotUse{})
		}
		r.uses[slot] = slotUse{id, used, sessions}
	})
	if err != nil {
		return err
	}
	for !r.lookOnce() { // a reload came in between
	}
	for at, state := range r.next {
		if r.states[at] != state && !r.dirty[at] {
			r.dirty[at] = true
			r.changed = append(r.changed, at)
		}
	}
	r.states, r.next = r.next, r.states
	return nil
}

// lookOnce looks at all addresses, a few at a time; false: they were changed meanwhile.
func (r *ring) lookOnce() bool {
	now := r.options.Now()
	mark := func(at int, state byte) {
		if weights[state] > weights[r.next[at]] {
			r.next[at] = state
		}
	}
	r.follow()
	for from := 0; from < len(r.addresses); from += lookAt {
		if !r.unchanged(func() {
			r.pool.EachAt(from, min(from+lookAt, len(r.addresses)), func(at int, b *pool.Binding) { mark(at, r.stateOf(now, b)) })
		}) {
			return false
		}
	}
	for from, entries := 0, 1; from < entries; from += lookAt {
		if !r.unchanged(func() {
			entries = r.pool.Reservations.Offered(now, from, from+lookAt, func(at int) { mark(at, api.PoolOffered) })
		}) {
			return false
		}
	}
	return true
}

// unchanged does something while the pool stands still; false: its addresses are not those of the ring any more.
func (r *ring) unchanged(do func()) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if !sameList(r.addresses, r.config.Pool.Addresses) {
		return false
	}
	do()
	return true
}

// follow has the ring be of the pool's addresses, and begins a look.
func (r *ring) follow() {
	r.mutex.Lock()
	addresses := r.config.Pool.Addresses
	r.mutex.Unlock()
	n := len(addresses)
	if !sameList(r.addresses, addresses) || r.states == nil {
		r.anew = r.states != nil
		r.addresses, r.states, r.next = addresses, bytes.Repeat([]byte{api.PoolFree}, n), make([]byte, n)
		r.dirty, r.changed = make([]bool, n), nil
	}
	for at := range r.next {
		r.next[at] = api.PoolFree
	}
}

// sameList reports whether two are the same: each configuration has one of its own.
func sameList(a, b []netip.Addr) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// stateOf is what a binding's address is used for; nil: it rests whole.
func (r *ring) stateOf(now model.Instant, b *pool.Binding) byte {
	if b == nil || b.State == pool.Resting {
		return api.PoolResting
	}
	used := b.Used
	if slot := int(uint32(b.ID)); slot < len(r.uses) && r.uses[slot].id == b.ID {
		known := &r.uses[slot]
		if known.sessions > 0 || known.used > 0 && known.used.Add(lingers) > now {
			return api.PoolClaimed
		}
		used = max(used, known.used)
	}
	if used > 0 && used.Add(r.config.Pool.Rest) > now {
		return api.PoolResting
	}
	return api.PoolBound
}
