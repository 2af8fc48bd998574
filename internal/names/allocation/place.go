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
func (qs *questions) bind(now model.Instant, r pool.Request) (pool.Binding, error) {
	b, moved, fresh, err := qs.pool.Bind(now, r.Service)
	for i := range moved {
		qs.unbind(&moved[i])
	}
	if err != nil {
		return b, said(err)
	}
	if !fresh {
		return b, nil
	}
	if err := qs.install(now, &b); err != nil {
		return b, err
	}
	if r.Verified {
		// The asker keeps the place from others until one of its clients has come.
		qs.holdings.Hold(holder(r), b.ID, qs.heldUntil(now))
	}
	return b, nil
}

// said is the pool's error in the words of the name server.
func said(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pool.ErrExhausted):
		return &answered{nameserver.ErrExhausted, err}
	case errors.Is(err, pool.ErrHalfOpen), errors.Is(err, pool.ErrHalfOpenHost), errors.Is(err, pool.ErrRests), errors.Is(err, pool.ErrFull):
		return &answered{nameserver.ErrRefused, err}
	}
	return &answered{nameserver.ErrFailed, err}
}

// install puts a fresh binding into the data plane, and has the disk told.
func (st *state) install(now model.Instant, b *pool.Binding) error {
	if err := st.options.Plane.Bind(st.record(b)); err != nil {
		st.pool.Unbind(b.ID)
		st.log.Error("binding not installed", "service", b.Service.Name, "address", b.Address, "error", err)
		return &answered{nameserver.ErrFailed, err}
	}
	st.tellBinding(model.Lent, b)
	st.keep(b.Address)
	return nil
}

// unbind takes a binding out of the data plane that the pool has given up or lets rest.
func (st *state) unbind(b *pool.Binding) {
	if err := st.options.Plane.Unbind(b.ID); err != nil {
		st.log.Error("binding not withdrawn", "service", b.Service.Name, "address", b.Address, "error", err)
	}
	st.tellBinding(model.Returned, b)
	st.keep(b.Address)
}

// keep has the disk told what an address is now.
func (st *state) keep(address netip.Addr) {
	var kept []keptBinding
	for b := range st.pool.At(address) {
		k := keep(b)
		if k.Resting {
			k.Until = st.restedAt(b)
		}
		kept = append(kept, k)
	}
	st.tickets[address] = st.keeper.note(address, kept)
}

// restedAt is when a binding that rests has done so, by the wall clock.
func (st *state) restedAt(b pool.Binding) time.Time {
	if until, ok := st.until[b.Address]; ok {
		return until
	}
	return st.options.Wall().Add(b.Used.Add(st.config.Pool.Rest).Sub(st.options.Now()))
}

func (st *state) record(b *pool.Binding) datapath.Binding {
	return datapath.Binding{
		ID: b.ID, Address: b.Address, Host: b.Service.Host, Name: st.config.Names.Number(b.Service.Name),
		Ports: b.Service.Ports, Used: b.Used, Answered: b.Answered, Open: true,
	}
}

// repeat answers from a standing reservation, with one more claim in the data plane. Where that has given the last
// away, it returns the reservation's ID: another takes its place.
func (qs *questions) repeat(now model.Instant, r pool.Request) (found lent, spent uint64, ok bool) {
	res, ok := qs.pool.Reservations.Repeat(now, r)
	if !ok {
		return lent{}, 0, false
	}
	b, ok := qs.pool.Binding(res.Binding)
	if !ok {
		return lent{}, 0, false
	}
	switch err := qs.options.Plane.Extend(res.ID, res.Granted); {
	case errors.Is(err, datapath.ErrSpent):
		qs.onClaim(datapath.ClaimEvent{ID: res.ID, At: now, Left: 1}) // its event may be on the way still
		qs.pool.Reservations.Forget(res.ID)
		return lent{}, res.ID, false
	case err != nil:
		// The reservation stands, but for one asker fewer than the pool has counted; Withdraw tells the truth at its end.
		qs.log.Error("reservation not extended", "name", r.Name, "error", err)
	}
	return lent{b.Address, qs.tickets[b.Address]}, 0, true
}

// reserve reserves the binding for the asker, and installs that.
func (qs *questions) reserve(now model.Instant, b pool.Binding, r pool.Request) error {
	res, fresh, err := qs.pool.Reservations.Reserve(now, r)
	switch {
	case err != nil:
		return said(err)
	case !fresh:
		// The data plane has it already; installing it again or giving it up would part the two.
		return fmt.Errorf("%w: the reservation of %s for %s stands already", nameserver.ErrFailed, b.Address, r.Name)
	}
	if err := qs.installReservation(&res); err != nil {
		qs.pool.Reservations.Cancel(res.ID)
		qs.log.Error("reservation not installed", "name", r.Name, "error", err)
		return &answered{nameserver.ErrFailed, err}
	}
	qs.tellAnswer(model.Offered, &res, netip.Addr{})
	qs.kickTimers()
	return nil
}

// installReservation puts a new one into the data plane. Should another be open in its entry, the pool knows nothing
// of that one: it is withdrawn, because the entry would be of no use ever after, and the pool takes the latest entry first.
func (st *state) installReservation(r *pool.Reservation) error {
	err := st.options.Plane.Reserve(st.reservation(r))
	if !errors.Is(err, unix.EEXIST) {
		return err
	}
	left, readErr := st.options.Plane.Reservations()
	if readErr != nil {
		return errors.Join(err, readErr)
	}
	for _, stale := range left {
		if stale.Open && uint32(stale.ID) == r.Entry() {
			st.log.Error("unknown reservation withdrawn", "asker", stale.Asker)
			_, _ = st.options.Plane.Withdraw(stale.ID)
		}
	}
	return st.options.Plane.Reserve(st.reservation(r))
}

func (st *state) reservation(r *pool.Reservation) datapath.Reservation {
	return datapath.Reservation{
		ID: r.ID, Binding: r.Binding, Asker: r.Requester, Source: r.Source, Name: st.config.Names.Number(r.Name),
		Expires: r.Expires, Claims: r.Claims, Merged: merged, Window: mergedWindow, Open: true,
	}
}
