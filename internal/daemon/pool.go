package daemon

import (
	"context"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/names/allocation"
	"github.com/realmgate/realmgate/internal/plane"
)

func immutablePool(d *draft) []string {
	return changed(map[string]bool{
		"pool.quotas.half_open beyond the reservation table": plane.Reservations(d.before.document.Config) == plane.Reservations(d.wanted.document.Config),
	})
}

// openPool makes the pool.
func (g nameServices) openPool(d *draft) (_ change, err error) {
	claimed := func(c allocation.Claim) { g.metrics.Claimed(c.After); g.names.Claimed(c.Name, c.Asker, c.After) }
	o := allocation.Options{Plane: g.data, Store: g.store, Events: &g.events, Loans: g.natlog, Claims: claimed, Log: g.log, Now: datapath.Now, Wall: time.Now}
	if g.pool, err = allocation.New(o, g.allocationConfig(d.view), g.data.Adopted()); err == nil {
		err = g.pool.CheckResting(d.config, d.outbound, d.dnat.Addresses)
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
