package daemon

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/names/allocation"
	"github.com/realmgate/realmgate/internal/plane"
)

func (g nameServices) allocationOptions() allocation.Options {
	return allocation.Options{Plane: g.data, Store: g.store, Events: &g.events, Log: g.log, Now: datapath.Now, Wall: time.Now}
}

func fixedPool(d *draft) []string {
	return changed(map[string]bool{
		"pool.quotas.half_open beyond the reservation table": plane.Reservations(d.before.document.Config) == plane.Reservations(d.wanted.document.Config),
	})
}

// openPool makes the pool.
func (g nameServices) openPool(d *draft) (_ change, err error) {
	if g.pool, err = allocation.New(g.allocationOptions(), g.allocationConfig(d.view), g.data.Adopted()); err == nil {
		err = g.rested(d.view)
	}
	return change{}, err
}

func (g nameServices) preparePool(d *draft) (change, error) {
	return change{
		Commit:   func() error { return g.pool.Configure(g.allocationConfig(d.view)) },
		Rollback: func() error { return g.pool.Configure(g.allocationConfig(d.before)) },
	}, nil
}

func (g nameServices) runPool(ctx context.Context) error {
	claims, err := g.data.Claims()
	if err == nil {
		g.pool.Serve(ctx, claims)
	}
	return err
}

func (g nameServices) reportPool(s *api.Status) error {
	s.Warnings = append(s.Warnings, g.live().Warnings(g.view.Load().shared())...)
	return g.pool.Report(s)
}

// rested returns an error if an address is to be something else that was of the pool just now.
func (g *Daemon) rested(v *view) error {
	others := slices.DeleteFunc(slices.Concat(v.outbound, v.dnat.Addresses, v.config.Hosts.OneToOneAddresses(), []netip.Addr{v.config.DNS.Public.Addr(), v.config.DNS.Private.Addr()}), func(a netip.Addr) bool {
		return slices.Contains(v.config.Pool.Addresses, a)
	})
	if address, left, rests := g.pool.StillResting(others, v.outbound); rests {
		return fmt.Errorf("%s was of the pool until now, and clients may still come to what it was: it can be used in %s", address, left.Round(time.Second))
	}
	return nil
}
