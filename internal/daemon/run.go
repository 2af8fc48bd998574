package daemon

import (
	"context"
	"errors"
	"os/signal"
	"syscall"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/events/event"
	"github.com/realmgate/realmgate/internal/names/server"
	"github.com/realmgate/realmgate/internal/outbound"
	"github.com/realmgate/realmgate/internal/reload"
	"github.com/realmgate/realmgate/internal/store"
)

// Run starts the gateway, serves until ctx ends, and stops it. SIGHUP reloads.
// An error says what could not be started; everything begun is then undone. Where the gateway hands over it does not return.
func Run(ctx context.Context, options Options) (err error) {
	d, err := reload.Read(options.ConfigFile, unconfirmedPath(options.Instance))
	if err != nil {
		return err
	}
	if err := datapath.CheckCapabilities(); err != nil {
		return err
	}
	g := newDaemon(options)
	toStop := ctx
	defer func() { err = g.handover.Continue(toStop, err) }() // when all is given back
	signal.Notify(g.hangups, syscall.SIGHUP)                  // from the start: a hangup during it must not kill us
	defer signal.Stop(g.hangups)
	lock, err := store.LockInstance(options.Instance)
	if err != nil {
		return err
	}
	defer lock.Close()
	now, err := outbound.Now(d.Config)
	if err != nil {
		return err
	}
	if g.sockets, err = server.Listen(now); err != nil {
		return err
	}
	defer g.sockets.Close()
	if g.control, err = api.Listen(options.Socket); err != nil {
		return err
	}
	defer func() { _ = g.control.Close() }()
	ctx, g.leave = context.WithCancel(ctx)
	defer g.leave()
	if err = g.start(d); err == nil {
		err = g.services.Run(ctx)
		g.changing.Lock() // for good: the control socket does not wait for long for what was asked
		g.log.Info("stopping", "keep_dataplane", g.plane.Keeps())
		err = errors.Join(err, g.services.Stop())
	}
	g.events.Close(event.Stop{Error: event.Text(err)})
	return err
}

// start puts the first configuration into force, and attaches the data plane last.
func (g *Daemon) start(d *config.Document) error {
	first := &draft{view: &view{}, wanted: wanted{document: d, read: true}}
	g.view.Store(first.view) // nobody asks yet, but what is begun
	return store.Hint(statePath(g.options.Instance), g.services.Start(first))
}

// runControl serves the control socket.
func (g *Daemon) runControl(ctx context.Context) error {
	return api.Serve(ctx, g.control, g.commands(), g.access.Now, g.log)
}
