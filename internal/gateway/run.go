package gateway

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"syscall"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/events"
)

// Run starts the gateway, serves until ctx ends, and stops it. SIGHUP reloads.
// An error says what could not be started; everything begun is then undone.
func Run(ctx context.Context, options Options) error {
	d, err := config.Read(options.ConfigFile)
	if err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return datapath.ErrNotRoot
	}
	g := newGateway(options)
	signal.Notify(g.hangups, syscall.SIGHUP) // from the start: a hangup during it must not kill us
	defer signal.Stop(g.hangups)
	lock, err := lockInstance(options.Instance)
	if err != nil {
		return err
	}
	defer lock.Close()
	now, err := configOfNow(d.Config)
	if err != nil {
		return err
	}
	if g.sockets, err = openSockets(now, options.Socket); err != nil {
		return err
	}
	defer g.sockets.close()
	if err = g.start(d); err == nil {
		err = g.services.Run(ctx)
		g.log.Info("stopping", "keep_dataplane", g.options.KeepDataplane)
		err = errors.Join(err, g.services.Stop())
	}
	g.events.Close(events.Stop{Error: events.Text(err)})
	return err
}

// start puts the first configuration into force, and attaches the data plane last.
func (g *Gateway) start(d *config.Document) error {
	first := &draft{view: &view{document: d}, read: true}
	g.view.Store(first.view) // nobody asks yet, but what is begun
	return fileFault(g.options.Instance, g.services.Start(first))
}

// sockets are what the daemon listens on.
type sockets struct {
	publicUDP, privateUDP net.PacketConn
	publicTCP, privateTCP net.Listener
	control               net.Listener
	public                netip.AddrPort // where those of the public side are
}

func openSockets(c *config.Config, control string) (s *sockets, err error) {
	s = &sockets{public: c.DNS.Public}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.publicUDP, s.publicTCP, err = listenNames(c.DNS.Public); err != nil {
		return s, err
	}
	s.privateUDP, s.privateTCP, err = listenNames(c.DNS.Private)
	if err == nil {
		s.control, err = api.Listen(control)
	}
	return s, err
}

func (s *sockets) close() {
	for _, p := range []net.PacketConn{s.publicUDP, s.privateUDP} {
		if p != nil {
			_ = p.Close()
		}
	}
	for _, l := range []net.Listener{s.publicTCP, s.privateTCP, s.control} {
		if l != nil {
			_ = l.Close()
		}
	}
}

// runControl serves the control socket.
func (g *Gateway) runControl(ctx context.Context) error {
	return api.Serve(ctx, g.sockets.control, g, g.log)
}

// runHangups reloads at each.
func (g *Gateway) runHangups(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-g.hangups:
			_, _ = g.Reload() // which logs what is wrong
		}
	}
}
