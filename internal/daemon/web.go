package daemon

import (
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/web"
)

func (g nameServices) newWeb() *web.Service {
	return web.New(web.Options{
		Plane: func() web.Plane { return g.data },
		Find: func(name string, flow model.Tuple) (web.Target, bool) {
			r := g.view.Load().realm
			target, known := r.WebTarget(name, flow.Protocol, flow.Destination.Port())
			return web.Target{Host: target.Host, To: target.To, Number: r.Number(target.Name), Redirect: target.Redirect}, known
		},
		Weak: func(target web.Target, flow model.Tuple, can datapath.WebPromise) {
			g.webHosts.Weak(target.Host, target.To, flow.Destination.Addr(), can)
		},
		Serves: func() bool { return len(g.view.Load().config.Web.Addresses) > 0 },
		Hello:  func() time.Duration { return g.view.Load().config.Web.Hello },
		Log:    g.log,
	})
}
