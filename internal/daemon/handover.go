package daemon

import "github.com/realmgate/realmgate/internal/handover"

func (g kernelServices) newHandover() *handover.Service {
	return handover.New(handover.Options{
		Next: g.options.Next, Prepare: []string{"realmgate", "prepare", "-c", g.options.ConfigFile, "--instance", g.options.Instance},
		Sessions: func() (int, error) { usage, err := g.data.Usage(); return int(usage.Sessions), err },
		Keep:     g.plane.Keep, Leave: func() { g.leave() }, Log: g.log,
	})
}
