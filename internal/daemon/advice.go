package daemon

import (
	"context"

	"github.com/realmgate/realmgate/internal/advice"
	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/config"
)

// prepareAdvice begins to remember what is counted.
func (g nameServices) prepareAdvice(d *draft) (change, error) {
	if d.before != nil {
		return change{}, nil
	}
	g.advice = advice.New(advice.Options{
		Data: g.data, Drops: &g.drops, Config: func() *config.Config { return g.view.Load().config },
		Pool: func() (exhausted, distrusted uint64) {
			_, asked := g.pool.Statistics()
			return asked.Exhausted, asked.Distrusted + asked.Shared
		},
		UpstreamFailed: func() uint64 { return g.names.UpstreamFailed() }, Log: g.log,
	})
	return g.advice.Start(), nil
}

func (g nameServices) runAdvice(ctx context.Context) error { return g.advice.Run(ctx) }

// reportAdvice says what is wrong with what packets and questions did, and with the pool's addresses.
func (g nameServices) reportAdvice(s *api.Status) error {
	s.Remedies = append(s.Remedies, ownRemedies(g.ownInPool(g.view.Load()))...)
	return g.advice.Report(s)
}
