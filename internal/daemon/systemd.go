package daemon

import (
	"os"

	"github.com/realmgate/realmgate/internal/systemd"
)

func (g machineServices) newSystemd() *systemd.Service {
	return systemd.New(systemd.Options{
		Environment: systemd.Read(os.Getpid(), os.Getenv, os.Unsetenv),
		Health:      func() (string, error) { s, err := g.commands().Status(); return s.Health, err },
		Ready:       g.commands().Ready, Again: func() bool { return g.handover.Wanted() }, Log: g.log,
	})
}

func (g machineServices) prepareSystemd(d *draft) (change, error) {
	return g.systemd.Prepare(d.wanted.read), nil
}
