package daemon

import (
	"os"

	"github.com/realmgate/realmgate/internal/systemd"
)

func (g machineServices) newSystemd() *systemd.Service {
	return systemd.New(systemd.Options{
		Environment: systemd.Read(os.Getpid(), os.Getenv, os.Unsetenv),
		Ready:       g.commands().Ready, Health: g.health, Again: func() bool { return g.handover.Wanted() }, Log: g.log,
	})
}

func (g machineServices) prepareSystemd(d *draft) (change, error) {
	return g.systemd.Prepare(d.wanted.read), nil
}

// health is a line about the gateway.
func (g *Daemon) health() string {
	s, err := g.commands().Status()
	if err != nil {
		return err.Error()
	}
	return s.Health
}
