package allocation

import (
	"context"
	"net/netip"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/names/allocation/settings"
	"github.com/realmgate/realmgate/internal/policy"
	"github.com/realmgate/realmgate/internal/pool"
)

// ConfigOf is what a file says, with the room that the data plane has for reservations and bindings; blocked says which
// ports of an address are somebody else's.
func ConfigOf(c *config.Config, names Names, reservations, most int, blocked func(netip.Addr, model.Protocol, uint16) bool) Config {
	order := pool.Random
	if c.Pool.Order == settings.OrderCircular {
		order = pool.Circular
	}
	q := c.Pool.Quotas
	return Config{
		Names: names,
		Pool: pool.Options{
			Addresses: c.Pool.Addresses, Order: order, ReservationTimeout: c.Pool.ReservationTimeout, Rest: c.Pool.Rest, HalfOpen: q.HalfOpen,
			HalfOpenPerHost: q.HalfOpenPerHost, Capacity: reservations, Bindings: most, Blocked: blocked,
		},
		Policy: policy.Options{
			Client: q.Client, Resolver: q.Resolver, Host: q.Host, Service: q.Service, Total: q.Total,
			Bands: bands(c.Pool.Bands), Reserve: c.Pool.Reserve, Open: !c.DNS.Verifies(),
		},
		Wait: c.Pool.Wait,
	}
}

func bands(list []settings.Band) []policy.Band {
	made := make([]policy.Band, len(list))
	for i, b := range list {
		made[i] = policy.Band(b)
	}
	return made
}

// Serve runs the timers until ctx ends, and hears which reservations were claimed.
func (a *Allocator) Serve(ctx context.Context, claims *datapath.Events[datapath.ClaimEvent]) {
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		claims.Follow(func(err error) { a.log.Error("data plane event lost", "error", err) }, a.OnClaim)
	}()
	a.Run(ctx)
	_ = claims.Close()
	<-heard
}

// Report says how full the pool is.
func (a *Allocator) Report(s *api.Status) error {
	p, asked := a.Statistics()
	s.Half.Used = uint64(p.Active)
	s.Addresses = api.Gauge{Used: uint64(p.Addresses - p.Free), Capacity: uint64(p.Addresses)}
	s.Places = api.Gauge{Used: uint64(p.Bindings), Capacity: uint64(p.Services)}
	s.Lent, s.Claimed, s.Expired, s.Moved = p.Reservations+p.Repeats, p.Claimed, p.Expired, p.Moved
	s.DNS.Distrusted, s.DNS.Exhausted = asked.Distrusted+asked.Shared, asked.Exhausted
	s.Warnings = append(s.Warnings, a.Warnings()...)
	return nil
}

// Bindings is api.Gateway.Pool: which service has which address.
func (a *Allocator) Bindings(filter api.Filter) ([]api.Binding, error) {
	now := a.options.Now()
	list := []api.Binding{}
	for _, p := range a.Places() {
		entry := api.Binding{
			Address: p.Address, Service: p.Service.Name.String(), Host: p.Service.Owner.String(), Private: p.Service.Host,
			Ports: p.Service.Ports, State: p.State.String(), Sessions: p.Sessions, Reservations: p.Reservations, Claims: p.Claims,
			Rests: max(0, p.Rested.Sub(now).Seconds()),
		}
		if filter.MatchBinding(entry) {
			list = append(list, entry)
		}
	}
	return list, nil
}
