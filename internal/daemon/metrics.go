package daemon

import (
	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/metrics"
)

func (g machineServices) newMetrics() *metrics.Service {
	return metrics.New(metrics.Options{
		Version: api.Version(), Started: g.started, Generation: func() uint32 { return g.view.Load().generation },
		Sources: func() []metrics.Source {
			return []metrics.Source{g.plane, g.pool, g.names, g.chains, g.bans, g.lists, g.jails, &g.events, g.natlog, &g.machine, g.dynamic, g.access}
		},
		Log: g.log,
	})
}

func (g machineServices) prepareMetrics(d *draft) (change, error) {
	return g.metrics.Prepare(d.wanted.read), nil
}
