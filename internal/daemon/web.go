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
		Events: &g.events,
		Serves: func() bool { return len(g.view.Load().config.Web.Addresses) > 0 },
		Hello:  func() time.Duration { return g.view.Load().config.Web.Hello },
		Log:    g.log,
	})
}

// prepareWeb has SYNs be answered before Run begins, as interfaces are attached before that. It ends connections whose names do
// not lead to their hosts any more: sessions of an earlier daemon, too.
func (g nameServices) prepareWeb(d *draft) (change, error) {
	if !d.wanted.read {
		return change{}, nil
	}
	return change{Commit: g.data.WebHeartbeat, Settle: func() { g.web.End(d.realm) }}, nil
}
