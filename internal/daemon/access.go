package daemon

import (
	"net/http"
	"time"

	"github.com/realmgate/realmgate/internal/access"
	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/page"
)

func (g machineServices) newAccess() *access.Service {
	site := page.New(page.Options{Tokens: true, Now: time.Now})
	serve := func(who api.Identify) http.Handler { return api.Handler(g.commands(), who, g.log) }
	return access.New(access.Options{
		Socket: g.options.Socket, Events: &g.events, Log: g.log,
		Serve: func(who api.Identify) http.Handler { return site.Handler(who, serve) },
	})
}

func (g machineServices) openAccess(d *draft) (change, error) {
	return g.access.Open(g.store, d.config.API)
}

func (g machineServices) prepareAccess(d *draft) (change, error) {
	return g.access.Prepare(d.wanted.read, d.config.API)
}
