package allocation

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nameserver"
	"github.com/realmgate/realmgate/internal/policy"
	"github.com/realmgate/realmgate/internal/pool"
)

// Allocate implements nameserver.Allocator: it returns once the data plane has what it answers (I6) and the disk
// knows whose the address is. A question over TCP waits for pool.wait when no address is free.
func (a *Allocator) Allocate(ctx context.Context, q nameserver.Question) (nameserver.Answer, error) {
	found, err := a.answer(ctx, q)
	a.noteAsked(q, err)
	switch {
	case errors.Is(err, nameserver.ErrExhausted):
		a.noteExhausted(q)
	case errors.Is(err, policy.ErrShare):
		a.counts.shared.Add(1)
	case err == nil && found.ticket > 0:
		a.keeper.await(ctx, found.ticket)
	}
	return nameserver.Answer{Address: found.address}, err
}

// lent is an address, and the ticket by which the disk knows whose it is.
type lent struct {
	address netip.Addr
	ticket  uint64
}

// outcome is what became of a question.
type outcome struct {
	lent
	err error
}

// waiting is a question over TCP that may be answered in a moment.
type waiting struct {
	question nameserver.Question
	done     chan outcome // has room for one
}

func (qs *questions) answer(ctx context.Context, q nameserver.Question) (lent, error) {
	qs.mutex.Lock()
	found, err := qs.try(q, false)
	if !mayPass(err) || q.Transport != nameserver.TCP {
		qs.mutex.Unlock()
		return found, err
	}
	w := &waiting{q, make(chan outcome, 1)}
	qs.line = append(qs.line, w)
	patience := time.NewTimer(qs.config.Wait)
	qs.mutex.Unlock()
	defer patience.Stop()
	qs.kickTimers()
	select {
	case o := <-w.done:
		return o.lent, o.err
	case <-patience.C:
	case <-ctx.Done():
	}
	qs.leave(w)
	select {
	case o := <-w.done: // just then
		return o.lent, o.err
	default:
		return found, err
	}
}

// leave ends a question's wait. When it returns nobody tries it again.
func (qs *questions) leave(w *waiting) {
	qs.mutex.Lock()
	defer qs.mutex.Unlock()
	if i := slices.Index(qs.line, w); i >= 0 {
		qs.line = slices.Delete(qs.line, i, i+1)
	}
}

// mayPass reports an error that may be over in a moment: an address has rested, or clients have come by what the asker
// was answered before. One resolver asks for all its clients, so that many of its answers are on their way at a time.
func mayPass(err error) bool {
	return errors.Is(err, nameserver.ErrExhausted) || errors.Is(err, policy.ErrShare)
}

// try answers at once. admitted: the limits have been asked for this question before.
func (qs *questions) try(q nameserver.Question, admitted bool) (lent, error) {
	now := qs.options.Now()
	r, err := qs.request(q)
	if err != nil {
		return lent{}, err
	}
	found, spent, ok := qs.repeat(now, r)
	if ok {
		return found, nil
	}
	b, stands := qs.pool.Standing(r.Service)
	if !admitted {
		err = qs.admit(now, r, stands)
	}
	if err == nil {
		err = qs.share(now, r, b, stands)
	}
	if err == nil && !stands {
		b, err = qs.bind(now, r)
	}
	if err == nil {
		err = qs.reserve(now, b, r)
	}
	if err != nil {
		return lent{}, err
	}
	if r.Verified && (!qs.pressed() || qs.contested(now, b)) {
		qs.holdings.Renew(holder(r), b.ID, qs.heldUntil(now))
		qs.alone.Renew(holder(r), b.ID, now.Add(qs.config.Pool.Rest))
	}
	// Not before: the resolver's other clients, whose handshakes have begun, claim by one or the other.
	qs.spend(now, spent, 0)
	return lent{b.Address, qs.tickets[b.Address]}, nil
}

func (st *state) request(q nameserver.Question) (pool.Request, error) {
	name, service, ok := st.config.Names.Find(q.Name)
	if !ok { // a reload took it away meanwhile
		return pool.Request{}, fmt.Errorf("%w: %s is not here any more", nameserver.ErrRefused, q.Name)
	}
	return pool.Request{
		Service: service, Name: name, Requester: q.Client.Addr(), Source: q.Subnet, Query: q.ID, Verified: q.Verified,
	}, nil
}

// admit asks the rates and, where the question would have a service take a place, load and reputation.
func (qs *questions) admit(now model.Instant, r pool.Request, stands bool) error {
	k := qs.asker(r)
	load := policy.Load{}
	if !stands {
		load = qs.load(now)
	}
	if err := qs.admission.Admit(now, k, load, stands); err != nil {
		if errors.Is(err, policy.ErrReputation) || errors.Is(err, policy.ErrReserve) {
			qs.counts.distrusted.Add(1)
		}
		return &answered{nameserver.ErrRefused, err}
	}
	return nil
}

// share asks how many places the asker keeps from others: by answers that nobody used and, where somebody else lately had
// no address, as the only one who uses them. A service that has its place and that others use takes nothing; any other does
// where services are without a place that they could have instead.
func (qs *questions) share(now model.Instant, r pool.Request, b pool.Binding, stands bool) error {
	k := qs.asker(r)
	if !k.Verified || stands && (qs.inNobodysWay(now, b) || qs.inUse(now, r, b)) {
		return nil
	}
	share := policy.Share(qs.pool.Statistics().Addresses, qs.admission.Reputation(now, k))
	err := qs.holdings.Allows(now, holder(r), b.ID, share)
	if lacked := qs.lacked.Others(holder(r)); err == nil && lacked > 0 && now.Sub(lacked) < max(qs.config.Pool.Rest, lackedFor) {
		err = qs.alone.Allows(now, holder(r), b.ID, share)
	}
	if err != nil {
		return &answered{nameserver.ErrRefused, err}
	}
	return nil
}

// lackedFor is how long at least after a question without an address nobody may use more than a share alone.
const lackedFor = time.Minute

// inUse reports that others than the asker came so lately that one answer more keeps the place hardly longer, an eighth
// of its rest at most.
func (st *state) inUse(now model.Instant, r pool.Request, b pool.Binding) bool {
	others := st.users.Others(holder(r), b.ID)
	return others > 0 && now.Sub(others) < st.config.Pool.Rest/8
}

// inNobodysWay reports that no service lacks what a binding has.
func (st *state) inNobodysWay(now model.Instant, b pool.Binding) bool {
	return !st.pressed() || !st.contested(now, b)
}

// pressed reports whether some service has no place.
func (st *state) pressed() bool {
	s := st.pool.Statistics()
	return s.Services > s.Bindings
}

// clientBits is the prefix that counts as one client (RFC 7871 §11.1 advises no more than /24).
const clientBits = 24

// asks says who asks, and asker for what, too.
func asks(r pool.Request) policy.Asker {
	prefix, _ := holder(r).Prefix(clientBits)
	return policy.Asker{Client: prefix, Resolver: r.Requester, Verified: r.Verified}
}

func (st *state) asker(r pool.Request) policy.Asker {
	service, _ := st.service(r.Service)
	k := asks(r)
	k.Host, k.Service = service.Host, r.Service
	if service.All() {
		k.Class = policy.HostName
	}
	return k
}

// holder is whom an answer is for: the asker or, where a listed resolver names it, the client behind it.
func holder(r pool.Request) netip.Addr {
	if r.Source.IsValid() {
		return r.Source.Addr()
	}
	return r.Requester
}

// loadFor is how long a look at the load of the pool counts.
const loadFor = 100 * time.Millisecond

// load is how much of the pool cannot be had now: addresses that something bound or resting keeps. What the data plane
// has heard meanwhile of sessions is not asked for.
func (st *state) load(now model.Instant) policy.Load {
	addresses := st.pool.Statistics().Addresses
	if st.looked == 0 || now.Sub(st.looked) > loadFor {
		st.looked, st.busy = now, 0
		kept := map[netip.Addr]bool{}
		for b := range st.pool.Bindings() {
			if b.State == pool.Resting || b.Used > 0 && b.Used.Add(st.config.Pool.Rest) > now {
				kept[b.Address] = true
			}
		}
		st.busy = len(kept)
	}
	return policy.Load{Addresses: addresses, Free: max(0, addresses-st.busy)}
}
