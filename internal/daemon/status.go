package daemon

import (
	"os"

	"github.com/realmgate/realmgate/internal/api"
)

// Status implements api.Gateway.
func (g commands) Status() (api.Status, error) {
	s := api.Status{
		Instance: g.options.Instance, Version: api.Version(), PID: os.Getpid(), Config: g.options.ConfigFile,
		Started: g.started, Generation: g.view.Load().generation,
	}
	if err := g.services.Report(&s); err != nil {
		return api.Status{}, err
	}
	s.Complete()
	return s, nil
}
