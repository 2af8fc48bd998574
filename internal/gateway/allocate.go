package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nameserver"
	"github.com/realmgate/realmgate/internal/policy"
	"github.com/realmgate/realmgate/internal/pool"
)

// Allocate implements nameserver.Allocator: it lends an address and returns
// once the data plane has the reservation (I6). A question over TCP waits for
// pool.wait when no address is free.
func (g *Gateway) Allocate(ctx context.Context, q nameserver.Question) (nameserver.Answer, error) {
	answer, err := g.allocate(ctx, q)
	if errors.Is(err, nameserver.ErrExhausted) {
		g.emitRefusal()
	}
	return answer, err
}

func (g *Gateway) allocate(ctx context.Context, q nameserver.Question) (nameserver.Answer, error) {
	if q.Transport != nameserver.TCP {
		answer, _, err := g.tryAllocate(q, false)
		return answer, err
	}
	ctx, cancel := context.WithTimeout(ctx, g.view.Load().config.Pool.Wait)
	defer cancel()
	for waited := false; ; waited = true {
		answer, freed, err := g.tryAllocate(q, waited)
		if !errors.Is(err, nameserver.ErrExhausted) {
			return answer, err
		}
		select {
		case <-freed:
			g.waits(-1)
		case <-ctx.Done():
			g.waits(-1)
			return answer, err
		}
	}
}

func (g *Gateway) waits(by int) {
	g.mutex.Lock()
	g.waiting += by
	g.mutex.Unlock()
}

// tryAllocate answers at once. With ErrExhausted over TCP the caller is counted
// as waiting, and the channel is closed when an address may have become free.
// admitted: the limits have been asked for this question before.
func (g *Gateway) tryAllocate(q nameserver.Question, admitted bool) (nameserver.Answer, <-chan struct{}, error) {
	v := g.view.Load()
	request, err := requestFor(v, q)
	if err != nil {
		return nameserver.Answer{}, nil, err
	}
	g.mutex.Lock()
	defer g.mutex.Unlock()
	now := datapath.Now()
	if address, ok := g.repeat(now, request); ok {
		return nameserver.Answer{Address: address}, nil, nil
	}
	if !admitted {
		if err := g.admission.Admit(now, asker(q.Client.Addr(), request), g.load()); err != nil {
			if errors.Is(err, policy.ErrReputation) || errors.Is(err, policy.ErrReserve) {
				g.distrusted++
			}
			return nameserver.Answer{}, nil, fmt.Errorf("%w: %w", nameserver.ErrRefused, err)
		}
	}
	address, err := g.lend(now, request)
	if errors.Is(err, nameserver.ErrExhausted) && q.Transport == nameserver.TCP {
		g.waiting++
		g.kickTimers()
	}
	return nameserver.Answer{Address: address}, g.freed, err
}

func requestFor(v *view, q nameserver.Question) (pool.Request, error) {
	entry, ok := v.registry.Lookup(q.Name)
	if !ok { // a reload took it away meanwhile
		return pool.Request{}, fmt.Errorf("%w: %s is not here any more", nameserver.ErrRefused, q.Name)
	}
	request := pool.Request{
		Name: q.Name, Host: entry.Host.Address, Requester: q.Client.Addr(), Query: q.ID,
		Verified: q.Transport == nameserver.TCP,
	}
	if s := entry.Service; s != nil {
		request.Protocol, request.Port, request.HostPort, request.Again = s.Protocol, s.Port, s.To, s.Again
	}
	return request, nil
}

// clientBits is the prefix that counts as one client (RFC 7871 §11.1 advises
// no more than /24).
const clientBits = 24

func asker(client netip.Addr, r pool.Request) policy.Asker {
	class := policy.ServiceName
	if r.Protocol == model.AnyProtocol {
		class = policy.HostName
	}
	prefix, _ := client.Prefix(clientBits)
	return policy.Asker{Client: prefix, Resolver: client, Host: r.Host, Service: r.Name, Class: class, Verified: r.Verified}
}

func (g *Gateway) load() policy.Load {
	s := g.pool.Statistics()
	return policy.Load{HalfOpen: s.Offered, Addresses: s.Addresses, Free: s.Free + s.Shared}
}

// repeat answers from a standing offer, with one more claim in the data plane.
func (g *Gateway) repeat(now model.Instant, r pool.Request) (netip.Addr, bool) {
	res, ok := g.pool.Repeat(now, r)
	if !ok {
		return netip.Addr{}, false
	}
	switch err := g.data.Extend(res.ID, res.Granted); {
	case errors.Is(err, datapath.ErrSpent):
		// Its last claim was used before we heard of it. The pool must know, or
		// it would offer the same again: a new offer is due.
		g.hear(datapath.ClaimEvent{ID: res.ID, At: now})
		return netip.Addr{}, false
	case err != nil:
		// The offer stands, but for one asker fewer than the pool has counted;
		// Withdraw tells the truth at its end.
		g.log.Error("an offer could not be extended", "name", r.Name, "error", err)
	}
	return res.Address, true
}

// lend makes a new offer and installs it.
func (g *Gateway) lend(now model.Instant, r pool.Request) (netip.Addr, error) {
	res, fresh, err := g.pool.Offer(now, r)
	if errors.Is(err, pool.ErrExhausted) {
		g.pool.Press(now)
		g.advance(now)
		res, fresh, err = g.pool.Offer(now, r)
	}
	switch {
	case errors.Is(err, pool.ErrExhausted):
		return netip.Addr{}, fmt.Errorf("%w: %w", nameserver.ErrExhausted, err)
	case errors.Is(err, pool.ErrHalfOpen), errors.Is(err, pool.ErrHalfOpenHost), errors.Is(err, pool.ErrFull):
		return netip.Addr{}, fmt.Errorf("%w: %w", nameserver.ErrRefused, err)
	case err != nil:
		return netip.Addr{}, fmt.Errorf("%w: %w", nameserver.ErrFailed, err)
	case !fresh:
		// The data plane has it already; installing it again or giving it up
		// would part the two.
		return netip.Addr{}, fmt.Errorf("%w: the offer of %s for %s stands already", nameserver.ErrFailed, res.Address, r.Name)
	}
	if err := g.install(&res); err != nil {
		g.pool.Cancel(now, res.ID)
		g.log.Error("a reservation could not be installed", "name", r.Name, "error", err)
		return netip.Addr{}, fmt.Errorf("%w: %w", nameserver.ErrFailed, err)
	}
	g.kickTimers()
	return res.Address, nil
}

// install puts a new offer into the data plane. Should another be open in its
// entry, the pool knows nothing of that one: it is withdrawn, because the entry
// would be of no use ever after, and the pool takes the latest entry first.
func (g *Gateway) install(r *pool.Reservation) error {
	err := g.data.Offer(g.dataReservation(r))
	if !errors.Is(err, unix.EEXIST) {
		return err
	}
	left, readErr := g.data.Reservations()
	if readErr != nil {
		return errors.Join(err, readErr)
	}
	for _, stale := range left {
		if stale.Open && uint32(stale.ID) == r.Entry() {
			g.log.Error("withdrawing a reservation that nobody knows", "address", stale.Address, "host", stale.Host)
			_, _ = g.data.Withdraw(stale.ID)
		}
	}
	return g.data.Offer(g.dataReservation(r))
}

func (g *Gateway) dataReservation(r *pool.Reservation) datapath.Reservation {
	return datapath.Reservation{
		ID: r.ID, Generation: r.Generation, Address: r.Address, Protocol: r.Protocol, Port: r.Port, Source: r.Source,
		Host: r.Host, HostPort: r.HostPort, Name: g.view.Load().numberOf(r.Name), Expires: r.Expires, Again: r.Again, Claims: r.Claims,
	}
}
