package allocation

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/pool"
)

// Place is a binding as people see it.
type Place struct {
	pool.Binding
	Sessions     int           // that stand
	Rested       model.Instant // when another owner may have it, as far as is known now; 0: nobody has used it
	Reservations int           // answers that wait for a client
	Claims       int           // clients that may still come by those
}

// Places lists what the pool's addresses are used for, by address and service. What the data plane knows is asked of it.
func (a *Allocator) Places() []Place {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	index := map[uint64]*Place{}
	list := []*Place{}
	for b := range a.pool.Bindings() {
		used, sessions := a.options.Plane.BindingUse(b.ID)
		b.Used = max(b.Used, used)
		p := &Place{Binding: b, Sessions: sessions}
		if b.Used > 0 {
			p.Rested = b.Used.Add(a.config.Pool.Rest)
		}
		index[b.ID] = p
		list = append(list, p)
	}
	for r := range a.pool.Reservations.All() {
		if p := index[r.Binding]; p != nil && r.Expires > a.options.Now() {
			p.Reservations++
			p.Claims += r.Claims
		}
	}
	slices.SortFunc(list, func(x, y *Place) int {
		return cmp.Or(x.Address.Compare(y.Address), cmp.Compare(x.Service.Name, y.Service.Name))
	})
	places := make([]Place, len(list))
	for i, p := range list {
		places[i] = *p
	}
	return places
}

// Free counts the addresses that nobody has.
func (a *Allocator) Free() int { return a.pool.Statistics().Free }

// Statistics are the pool's, and what the Allocator counted. No question waits for who reads them.
func (st *state) Statistics() (pool.Statistics, Counts) {
	c := &st.counts
	return st.pool.Statistics(), Counts{Distrusted: c.distrusted.Load(), Shared: c.shared.Load(), Exhausted: c.exhausted.Load()}
}

// Place returns the address that a service has, if it has one.
func (a *Allocator) Place(service model.Name) (netip.Addr, bool) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	b, ok := a.pool.Standing(service)
	return b.Address, ok
}

// CheckResting refuses that an address which was of the pool just now is something else: outbound, dnat's own, a host's, of
// the web, or where a name server listens.
func (a *Allocator) CheckResting(c *config.Config, outbound, dnat []netip.Addr) error {
	servers := []netip.Addr{c.DNS.Public.Addr(), c.DNS.Private.Addr()}
	others := slices.DeleteFunc(slices.Concat(outbound, dnat, c.Hosts.OneToOneAddresses(), c.Web.Addresses, servers), func(other netip.Addr) bool {
		return slices.Contains(c.Pool.Addresses, other)
	})
	if address, left, rests := a.stillResting(others, outbound); rests {
		return fmt.Errorf("%s was of the pool until now, and clients may still come to what it was: it can be used in %s", address, left.Round(time.Second))
	}
	return nil
}

// stillResting returns the first of some addresses that was of the pool, and for how long it may be nothing else yet: a
// client may come back to what it was. Of addresses in parts the ports that rest are kept from others, so that only what
// was lent whole is in the way.
func (a *Allocator) stillResting(addresses, parts []netip.Addr) (netip.Addr, time.Duration, bool) {
	now := a.options.Now()
	for _, address := range addresses {
		if left := a.restOf(address).Sub(now); left > 0 {
			return address, left, true
		}
	}
	places := a.Places()
	a.mutex.Lock()
	defer a.mutex.Unlock()
	for _, p := range places {
		left := p.Rested.Sub(now)
		if until, ok := a.until[p.Address]; ok {
			left = min(left, until.Sub(a.options.Wall()))
		}
		whole := slices.ContainsFunc(p.Service.Ports, func(port model.Port) bool { return port.Port == 0 })
		if left > 0 && slices.Contains(addresses, p.Address) && (whole || !slices.Contains(parts, p.Address)) {
			return p.Address, left, true
		}
	}
	return netip.Addr{}, 0, false
}

// restOf is until when an address rests of which too little is known.
func (st *state) restOf(address netip.Addr) model.Instant {
	st.mutex.Lock()
	defer st.mutex.Unlock()
	return st.pool.Rests(address)
}

// Warnings says what to do about what is wrong.
func (a *Allocator) Warnings() []string {
	behind, err := a.keeper.failing()
	if err == nil {
		return nil
	}
	return []string{fmt.Sprintf("the disk lacks whose %d pool addresses are, and after a reboot they would be whose they were before: make room in /var/lib/realmgate, or make it writable: %v", behind, err)}
}
