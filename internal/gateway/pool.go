package gateway

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/events"
	"github.com/realmgate/realmgate/internal/names/allocation"
	"github.com/realmgate/realmgate/internal/plane"
)

func (g nameServices) allocationOptions() allocation.Options {
	return allocation.Options{Plane: g.data, Store: g.store, Events: poolEvents{&g.events}, Log: g.log, Now: datapath.Now, Wall: time.Now}
}

func fixedPool(d *draft) []string {
	return changed(map[string]bool{
		"pool.quotas.half_open beyond the reservation table": plane.Reservations(d.before.document.Config) == plane.Reservations(d.document.Config),
	})
}

// preparePool makes the pool at the start.
func (g nameServices) preparePool(d *draft) (_ change, err error) {
	if d.before == nil {
		if g.pool, err = allocation.New(g.allocationOptions(), g.allocationConfig(d.view), g.data.Adopted()); err != nil {
			return change{}, err
		}
	}
	if d.read {
		if err := g.rested(d.view); err != nil {
			return change{}, err
		}
	}
	if d.before == nil {
		return change{}, nil
	}
	return change{
		Commit:   func() error { return g.pool.Configure(g.allocationConfig(d.view)) },
		Rollback: func() error { return g.pool.Configure(g.allocationConfig(d.before)) },
	}, nil
}

// runPool runs the pool's timers, and hears from the data plane which offers were claimed.
func (g nameServices) runPool(ctx context.Context) error {
	claims, err := g.data.Claims()
	if err != nil {
		return err
	}
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		g.runClaims(claims)
	}()
	g.pool.Run(ctx)
	_ = claims.Close()
	<-heard
	return nil
}

// reportPool says how full the pool is, and which names wait.
func (g nameServices) reportPool(s *api.Status) error {
	p, asked := g.pool.Statistics()
	s.Half.Used = uint64(p.Offered)
	s.Addresses = api.Gauge{Used: uint64(p.Addresses - p.Free), Capacity: uint64(p.Addresses)}
	s.Places = api.Gauge{Used: uint64(p.Bindings), Capacity: uint64(p.Services)}
	s.Lent, s.Claimed, s.Expired, s.Moved = p.Offers+p.Repeats, p.Claimed, p.Expired, p.Moved
	s.DNS.Distrusted, s.DNS.Exhausted = asked.Distrusted+asked.Shared, asked.Exhausted
	s.Remedies = append(s.Remedies, g.live().Remedies(g.view.Load().shared())...)
	s.Remedies = append(s.Remedies, g.pool.Remedies()...)
	return nil
}

// poolEvents tells the sinks what happens to the pool.
type poolEvents struct{ hub *events.Hub }

// PoolExhausted implements allocation.Events.
func (p poolEvents) PoolExhausted(addresses int) {
	p.hub.Emit(events.PoolExhausted{Addresses: addresses})
}

// PoolRecovered implements allocation.Events.
func (p poolEvents) PoolRecovered(refused uint64) { p.hub.Emit(events.PoolRecovered{Refused: refused}) }

// rested returns an error if an address is to be something else that was of the pool just now.
func (g nameServices) rested(v *view) error {
	others := slices.DeleteFunc(slices.Concat(v.outbound, v.static.Addresses, v.config.OneToOneAddresses(), []netip.Addr{v.config.DNS.Public.Addr(), v.config.DNS.Private.Addr()}), func(a netip.Addr) bool {
		return slices.Contains(v.config.Pool.Addresses, a)
	})
	if address, left, rests := g.pool.StillResting(others, v.outbound); rests {
		return fmt.Errorf("%s was of the pool until now, and clients may still come to what it was: it can be used in %s", address, left.Round(time.Second))
	}
	return nil
}

// runClaims hears from the data plane which offers were claimed.
func (g nameServices) runClaims(claims *datapath.Events[datapath.ClaimEvent]) {
	claims.Follow(func(err error) {
		g.log.Error("an event of the data plane was lost", "error", err)
	}, g.pool.Hear)
}
