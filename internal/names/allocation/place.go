package allocation

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nameserver"
	"github.com/realmgate/realmgate/internal/pool"
)

// A resolver asks once for all who ask it at the same time. When another than the asker has claimed its answer, so many
// more clients may within that time: docs/guide/names.md has what bursts behind common resolvers need.
const (
	merged       = 15
	mergedWindow = time.Second
)

// bind gives the asked service a place, and installs it: what gave way has left the data plane before.
func (a *Allocator) bind(now model.Instant, r pool.Request) (pool.Binding, error) {
	b, moved, fresh, err := a.pool.Bind(now, r.Service)
	for i := range moved {
		a.unbind(&moved[i])
	}
	if err != nil {
		return b, said(err)
	}
	if !fresh {
		return b, nil
	}
	if err := a.install(now, &b); err != nil {
		return b, err
	}
	if r.Verified {
		// The asker keeps the place from others until a client of his has come.
		a.holdings.Hold(holder(r), b.ID, a.heldUntil(now))
	}
	return b, nil
}

// said is the pool's error in the words of the name server.
func said(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pool.ErrExhausted):
		return fmt.Errorf("%w: %w", nameserver.ErrExhausted, err)
	case errors.Is(err, pool.ErrHalfOpen), errors.Is(err, pool.ErrHalfOpenHost), errors.Is(err, pool.ErrFull):
		return fmt.Errorf("%w: %w", nameserver.ErrRefused, err)
	}
	return fmt.Errorf("%w: %w", nameserver.ErrFailed, err)
}

// install puts a fresh binding into the data plane, and has the disk told.
func (a *Allocator) install(now model.Instant, b *pool.Binding) error {
	if err := a.options.Plane.Bind(a.record(b)); err != nil {
		a.pool.Unbind(b.ID)
		a.log.Error("binding not installed", "service", b.Service.Name, "address", b.Address, "error", err)
		return fmt.Errorf("%w: %w", nameserver.ErrFailed, err)
	}
	a.keep(b.Address)
	return nil
}

// unbind takes a binding out of the data plane that the pool has given up or lets rest.
func (a *Allocator) unbind(b *pool.Binding) {
	if err := a.options.Plane.Unbind(b.ID); err != nil {
		a.log.Error("binding not withdrawn", "service", b.Service.Name, "address", b.Address, "error", err)
	}
	a.keep(b.Address)
}

// keep has the disk told what an address is now.
func (a *Allocator) keep(address netip.Addr) {
	var kept []keptBinding
	for b := range a.pool.At(address) {
		k := keep(b)
		if k.Resting {
			k.Until = a.restedAt(b)
		}
		kept = append(kept, k)
	}
	a.tickets[address] = a.keeper.note(address, kept)
}

// restedAt is when a binding that rests has done so, by the wall clock.
func (a *Allocator) restedAt(b pool.Binding) time.Time {
	if until, ok := a.until[b.Address]; ok {
		return until
	}
	return a.options.Wall().Add(b.Used.Add(a.config.Pool.Rest).Sub(a.options.Now()))
}

func (a *Allocator) record(b *pool.Binding) datapath.Binding {
	return datapath.Binding{
		ID: b.ID, Address: b.Address, Host: b.Service.Host, Name: a.config.Names.Number(b.Service.Name),
		Ports: b.Service.Ports, Used: b.Used, Answered: b.Answered, Open: true,
	}
}

// repeat answers from a standing offer, with one more claim in the data plane. Where that has given the last away, it
// returns the offer's ID: another takes its place.
func (a *Allocator) repeat(now model.Instant, r pool.Request) (found lent, spent uint64, ok bool) {
	res, ok := a.pool.Reservations.Repeat(now, r)
	if !ok {
		return lent{}, 0, false
	}
	b, ok := a.pool.Binding(res.Binding)
	if !ok {
		return lent{}, 0, false
	}
	switch err := a.options.Plane.Extend(res.ID, res.Granted); {
	case errors.Is(err, datapath.ErrSpent):
		a.hear(datapath.ClaimEvent{ID: res.ID, At: now, Left: 1}) // its event may be on the way still
		a.pool.Reservations.Forget(res.ID)
		return lent{}, res.ID, false
	case err != nil:
		// The offer stands, but for one asker fewer than the pool has counted; Withdraw tells the truth at its end.
		a.log.Error("reservation not extended", "name", r.Name, "error", err)
	}
	return lent{b.Address, a.tickets[b.Address]}, 0, true
}

// offer reserves the binding for the asker, and installs that.
func (a *Allocator) offer(now model.Instant, b pool.Binding, r pool.Request) error {
	res, fresh, err := a.pool.Reservations.Offer(now, r)
	switch {
	case err != nil:
		return said(err)
	case !fresh:
		// The data plane has it already; installing it again or giving it up would part the two.
		return fmt.Errorf("%w: the offer of %s for %s stands already", nameserver.ErrFailed, b.Address, r.Name)
	}
	if err := a.installOffer(&res); err != nil {
		a.pool.Reservations.Cancel(res.ID)
		a.log.Error("reservation not installed", "name", r.Name, "error", err)
		return fmt.Errorf("%w: %w", nameserver.ErrFailed, err)
	}
	a.kickTimers()
	return nil
}

// installOffer puts a new offer into the data plane. Should another be open in its entry, the pool knows nothing of
// that one: it is withdrawn, because the entry would be of no use ever after, and the pool takes the latest entry first.
func (a *Allocator) installOffer(r *pool.Reservation) error {
	err := a.options.Plane.Offer(a.reservation(r))
	if !errors.Is(err, unix.EEXIST) {
		return err
	}
	left, readErr := a.options.Plane.Reservations()
	if readErr != nil {
		return errors.Join(err, readErr)
	}
	for _, stale := range left {
		if stale.Open && uint32(stale.ID) == r.Entry() {
			a.log.Error("unknown reservation withdrawn", "asker", stale.Asker)
			_, _ = a.options.Plane.Withdraw(stale.ID)
		}
	}
	return a.options.Plane.Offer(a.reservation(r))
}

func (a *Allocator) reservation(r *pool.Reservation) datapath.Reservation {
	return datapath.Reservation{
		ID: r.ID, Binding: r.Binding, Asker: r.Requester, Source: r.Source, Name: a.config.Names.Number(r.Name),
		Expires: r.Expires, Claims: r.Claims, Merged: merged, Window: mergedWindow, Open: true,
	}
}
