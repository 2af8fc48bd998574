package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/events"
	"github.com/realmgate/realmgate/internal/names/allocation"
	"github.com/realmgate/realmgate/internal/nameserver"
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
	hangups := make(chan os.Signal, 1) // from the start: a hangup during it must not kill us
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	lock, err := lockInstance(options.Instance)
	if err != nil {
		return err
	}
	defer lock.Close()
	g := &Gateway{
		options: options, log: options.Logger, started: time.Now(),
		trapped: newTrapped(), moved: make(chan struct{}, 1),
		bans:   bans{spare: make(chan struct{}, 1)},
		events: events.Hub{Instance: options.Instance, Log: options.Logger},
	}
	now, err := configOfNow(d.Config)
	if err != nil {
		return err
	}
	sockets, err := openSockets(now, options.Socket)
	if err != nil {
		return err
	}
	defer sockets.close()
	if err = g.start(d); err == nil {
		err = errors.Join(g.serve(ctx, sockets, hangups), g.stop())
	}
	g.events.Close(events.Stop{Error: events.Text(err)})
	return err
}

// start builds everything and attaches the data plane last.
func (g *Gateway) start(d *config.Document) (err error) {
	c := d.Config
	if err := missing(d); err != nil {
		return err
	}
	addresses, err := planOf(c).Look()
	if err != nil {
		return err
	}
	feeds, err := g.prepareFeeds(c)
	if err != nil {
		return err
	}
	v, err := newView(d, addresses, nothingPast, g.loggedContents(feeds, nil))
	if err != nil {
		return err
	}
	if v.places, err = placesOf(c); err != nil {
		return err
	}
	if v.hops, err = g.hops.now(); err != nil {
		return err
	}
	v.balances = balancesOf(c, nil)
	tables := datapathOptions(g.options, v, addresses)
	g.room = roomFor(&tables)
	if g.data, err = datapath.Open(tables); err != nil {
		return err
	}
	g.room.slots = g.data.MostOutbound()
	defer func() {
		if err != nil {
			err = errors.Join(err, g.data.Close(g.data.Adopted()), g.store.Close())
		}
	}()
	if g.store, err = openStore(g.options.Instance); err != nil {
		return err
	}
	if _, err = g.readOwn(); err != nil { // the pool asks for them
		return err
	}
	if err = g.lookAtSockets(v); err != nil {
		return err
	}
	if g.pool, err = allocation.New(g.allocationOptions(), g.allocationConfig(v), g.data.Adopted()); err != nil {
		return err
	}
	if err := g.rested(v); err != nil {
		return err
	}
	g.cookies.Store(g.keptCookies(time.Now()))
	if g.journal, err = nameserver.NewJournal(zoneStore{g.store}); err != nil {
		return err
	}
	g.view.Store(v) // whose names the servers ask for
	serial := uint32(g.started.Unix())
	if g.public, err = nameserver.NewPublic(g.publicOptions(v, serial)); err != nil {
		return err
	}
	if g.private, err = nameserver.NewPrivate(g.privateOptions(v, serial)); err != nil {
		return err
	}
	if err := g.tellLentNames(); err != nil {
		return err
	}
	if err := g.data.SetAddresses(v.config.Pool.Addresses, v.static.addresses, v.config.OneToOneAddresses()...); err != nil {
		return err
	}
	chains, err := g.data.MakeChains(buildChains(v, &g.states))
	if err != nil {
		return err
	}
	defer chains.Close()
	if v.generation, err = g.data.SetPolicy(datapathSettings(v), g.opened(v), chains); err != nil {
		return err
	}
	g.states.Keep()
	g.replaceFeeds(feeds)
	g.begun(v)
	if g.outbound, err = g.keepOutbound(v); err != nil {
		return err
	}
	g.warnOfOwn(v)
	if err := g.noteTotals(); err != nil {
		return err
	}
	if err := g.loadBans(); err != nil {
		return err
	}
	if err := g.data.Attach(); err != nil {
		return err
	}
	g.announce()
	return nil
}

// announce tells the log what runs, and how much memory it took.
func (g *Gateway) announce() {
	usage, err := g.data.Usage()
	if err != nil {
		g.log.Warn("the data plane's use could not be read", "error", err)
	}
	g.log.Info("data plane ready", "capacity", usage.Capacity, "sessions", usage.Sessions, "adopted", g.data.Adopted(),
		"memory", fmt.Sprintf("%.1f MiB", float64(usage.Bytes)/(1<<20)),
		"bytes_per_session", (usage.Bytes-usage.AddressBytes-usage.FragmentBytes)/max(1, usage.Capacity),
		"for_addresses", fmt.Sprintf("%.1f MiB", float64(usage.AddressBytes)/(1<<20)),
		"for_fragments", fmt.Sprintf("%.1f MiB", float64(usage.FragmentBytes)/(1<<20)))
	for _, i := range g.data.Interfaces() {
		g.log.Info("attached", "interface", i.Name, "side", i.Side, "mode", i.Mode, "why", i.Why, "redirect", i.Redirect)
	}
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

// serve runs every part until ctx ends or one fails.
func (g *Gateway) serve(ctx context.Context, s *sockets, hangups <-chan os.Signal) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	claims, err := g.data.Claims()
	if err != nil {
		return err
	}
	traps, err := g.data.Traps()
	if err != nil {
		return err
	}
	watch, err := newWatch()
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	part := func(name string, run func() error) {
		running.Go(func() {
			if err := run(); err != nil {
				cancel(fmt.Errorf("%s: %w", name, err))
			}
		})
	}
	g.watches.begin(func(w compiledWatch) *runningWatch { return g.launch(ctx, w) }, g.view.Load().watches)
	g.reload.Lock()
	g.attend = func(s balances) { s.begin(ctx, g) }
	g.attend(g.view.Load().balances)
	g.reload.Unlock()
	part("public name server", func() error { return g.runPublic(ctx, s.publicUDP, s.publicTCP, s.public) })
	part("private name server", func() error { return g.private.Serve(ctx, s.privateUDP, s.privateTCP) })
	part("questions", func() error { g.runQuestions(ctx); return nil })
	part("control socket", func() error { return api.Serve(ctx, s.control, g, g.log) })
	part("claims", func() error { g.runClaims(claims); return nil })
	part("traps", func() error { g.runTraps(traps); return nil })
	part("bans of the honeypot", func() error { g.runBanTrapped(); return nil })
	part("bans", func() error { g.runBans(ctx); return nil })
	part("pool", func() error { g.pool.Run(ctx); return nil })
	part("upkeep", func() error { g.runUpkeep(ctx, watch); return nil })
	part("outbound addresses", func() error { g.outbound.Run(ctx); return nil })
	part("diagnosis", func() error { g.runDiagnosis(ctx); return nil })
	part("black holes", func() error { g.runBlackHoles(ctx); return nil })
	part("sweep", func() error { g.runSweep(ctx); return nil })
	part("lists", func() error { g.runLists(ctx); return nil })
	part("hangups", func() error { g.runHangups(ctx, hangups); return nil })
	g.log.Info("serving", "public", s.public, "private", s.privateUDP.LocalAddr(), "socket", g.options.Socket)
	g.announceNames(g.view.Load().config)
	<-ctx.Done()
	_ = claims.Close()
	_ = traps.Close()
	g.drops.close()
	g.captures.close()
	running.Wait()
	g.reload.Lock() // the control socket does not wait for long for what was asked
	g.watches.end()
	g.view.Load().balances.close(nil)
	g.attend = nil
	g.reload.Unlock()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

func (g *Gateway) runHangups(ctx context.Context, hangups <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
			_, _ = g.Reload() // which logs what is wrong
		}
	}
}

func (g *Gateway) stop() error {
	g.log.Info("stopping", "keep_dataplane", g.options.KeepDataplane)
	if err := errors.Join(g.store.Close(), g.data.Close(g.options.KeepDataplane)); err != nil {
		return fmt.Errorf("stop the data plane: %w", err)
	}
	return nil
}
