package daemon

import (
	"github.com/realmgate/realmgate/internal/advice"
	"github.com/realmgate/realmgate/internal/config"
)

func (g nameServices) newAdvice() *advice.Service {
	return advice.New(advice.Options{
		Drops: &g.drops, Config: func() *config.Config { return g.view.Load().config },
		Pool: func() (exhausted, distrusted uint64) {
			_, asked := g.pool.Statistics()
			return asked.Exhausted, asked.Distrusted + asked.Shared
		},
		UpstreamFailed: func() uint64 { return g.names.UpstreamFailed() }, Log: g.log,
	})
}

// openAdvice begins to remember what is counted.
func (g nameServices) openAdvice(*draft) (change, error) { return g.advice.Open(g.data), nil }
