package daemon

import (
	"github.com/realmgate/realmgate/internal/flow"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/natlog"
)

func (g kernelServices) newFlows() *flow.Service {
	return flow.New(flow.Options{Names: func() flow.Names { return g.view.Load().realm }, Country: commands{Daemon: g.Daemon}.Country, Log: g.log})
}

func (g machineServices) newNATLog() *natlog.Service {
	return natlog.New(natlog.Options{
		Names: func() natlog.Names { return g.view.Load().realm },
		Lent:  func(visit func(model.Loan)) { g.pool.Lent(visit) }, Keeps: g.plane.Keeps, Log: g.log,
	})
}

// openLog is below the pool: what stands is written down at once.
func (g machineServices) openLog(d *draft) (change, error) {
	g.flows.Open(g.data)
	return g.natlog.Open(g.data, d.config.Log), nil
}

func (g machineServices) prepareLog(d *draft) (change, error) {
	return g.natlog.Prepare(d.wanted.read, d.config.Log), nil
}
