package daemon

import (
	"context"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/names/dynamic"
	"github.com/realmgate/realmgate/internal/names/server"
	"github.com/realmgate/realmgate/internal/nameserver"
)

func immutableNames(d *draft) []string {
	return changed(server.Immutable(d.before.document.Config, d.wanted.document.Config))
}

func served(d *draft) server.Served {
	return server.Served{Config: d.config, Zones: d.realm.Zones, Keys: d.realm.Keys}
}

// prepareNames has the name servers follow.
func (g nameServices) prepareNames(d *draft) (change, error) { return g.names.Prepare(served(d)) }

// openNames makes the name servers.
func (g nameServices) openNames(d *draft) (_ change, err error) {
	g.names, err = server.New(server.Options{
		Data: g.data, Store: g.store, Allocator: g.advice.Watch(g.pool), Registrar: dynamic.Updates{Service: g.dynamic}, Abroad: g.edges, Directory: func() nameserver.Directory { return g.view.Load().realm },
		Serves: g.servesInside, Inside: g.leadsInside, Overdone: g.advice.Overdone, Took: g.metrics.Answered,
		Now: datapath.Now, Log: g.log,
	}, served(d), uint32(g.started.Unix()))
	if err != nil {
		return change{}, err
	}
	return g.names.Start(), nil
}

func (g nameServices) servePublic(ctx context.Context) error {
	return g.names.ServePublic(ctx, g.sockets)
}

func (g nameServices) servePrivate(ctx context.Context) error {
	return g.names.ServePrivate(ctx, g.sockets)
}

func (g nameServices) runQuestions(ctx context.Context) error { return g.names.Run(ctx) }

func (g nameServices) reportNames(s *api.Status) error { return g.names.Report(s) }
