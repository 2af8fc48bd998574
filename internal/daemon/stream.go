package daemon

import (
	"context"
	"strconv"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/stream"
)

func (g machineServices) newStream() *stream.Hub {
	return stream.New(stream.Options{
		Epoch: strconv.FormatInt(g.started.UnixNano(), 36), Log: g.log, Passing: []string{"drops", "names", "sessions"},
		Sources: map[string]stream.Source{
			"status":   stream.Every(time.Second, func() (any, error) { return g.commands().Status() }),
			"pool":     func(ctx context.Context, tell func(...any)) error { return g.pool.TellPool(ctx, tell) },
			"names":    func(ctx context.Context, tell func(...any)) error { return g.names.TellNames(ctx, tell) },
			"sessions": g.flows.Tell,
			"drops": func(ctx context.Context, tell func(...any)) error {
				return g.commands().Drops(ctx, api.Filter{}, func(d api.Drop) bool { tell(d); return true })
			},
		},
	})
}
