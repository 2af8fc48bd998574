package gateway

import (
	"context"
	"net/netip"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/names/realm"
	"github.com/realmgate/realmgate/internal/names/server"
)

func fixedNames(d *draft) []string {
	return changed(server.Fixed(d.before.document.Config, d.document.Config))
}

// prepareNames makes the name servers at the start, and has them follow later.
func (g *Gateway) prepareNames(d *draft) (_ change, err error) {
	if d.before != nil {
		return g.names.Prepare(d.config, d.realm)
	}
	g.names, err = server.New(server.Options{
		Data: g.data, Store: g.store, Allocator: watchedAllocator{g.pool, &g.refused}, Realm: func() *realm.Realm { return g.view.Load().realm },
		Serves: g.servesInside, Inside: g.leadsInside, Overdone: func(asker netip.Addr) { g.overdone.note(datapath.Now(), asker) },
		Now: datapath.Now, Log: g.log,
	}, d.config, d.realm, uint32(g.started.Unix()))
	if err != nil {
		return change{}, err
	}
	return g.names.Start(), nil
}

func (g *Gateway) servePublic(ctx context.Context) error { return g.names.ServePublic(ctx, g.sockets) }

func (g *Gateway) servePrivate(ctx context.Context) error {
	return g.names.ServePrivate(ctx, g.sockets)
}

func (g *Gateway) runQuestions(ctx context.Context) error { return g.names.Run(ctx) }

// reportNames says what the name servers did, and who asks too much.
func (g *Gateway) reportNames(s *api.Status) error {
	s.Remedies = append(s.Remedies, g.questioners(datapath.Now())...)
	return g.names.Report(s)
}
