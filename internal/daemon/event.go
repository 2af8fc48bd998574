package daemon

import (
	"os"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/events"
	"github.com/realmgate/realmgate/internal/events/event"
)

// openEvents tells of the start.
func (g *Daemon) openEvents(d *draft) (change, error) {
	return change{Commit: func() error { g.emitStart(d.view); return nil }}, nil
}

// prepareEvents has sinks follow the file.
func (g *Daemon) prepareEvents(d *draft) (c change, _ error) {
	if d.wanted.read {
		c.Settle = func() { g.events.Follow(events.SinksOf(d.config.Events)) }
	}
	return c, nil
}

// emitStart tells that the view is in force.
func (g *Daemon) emitStart(v *view) {
	g.events.Follow(events.SinksOf(v.config.Events))
	g.events.Emit(event.Start{
		Version: api.Version(), PID: os.Getpid(), Config: g.options.ConfigFile, Generation: v.generation, Adopted: g.data.Adopted(),
	})
}
