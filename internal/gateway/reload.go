package gateway

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/events"
	"github.com/realmgate/realmgate/internal/nameserver"
)

// Reload implements api.Gateway: the file is read and checked whole before
// anything changes, and what was in force is put back if a step fails.
func (g *Gateway) Reload() (done api.Reload, err error) {
	g.reload.Lock()
	defer g.reload.Unlock()
	defer func() {
		g.events.Emit(events.Reload{Generation: done.Generation, Error: events.Text(err)})
		if err != nil {
			g.log.Error("the reload changed nothing", "error", err)
		}
	}()
	d, err := config.Read(g.options.ConfigFile)
	if err != nil {
		return api.Reload{}, err
	}
	c, old := d.Config, g.view.Load()
	if err := fixed(g.options.ConfigFile, old.document.Config, c); err != nil {
		return api.Reload{}, err
	}
	feeds, err := g.prepareFeeds(c)
	if err != nil {
		return api.Reload{}, err
	}
	addresses, err := planOf(c).Look()
	if err != nil {
		return api.Reload{}, err
	}
	v, err := newView(d, addresses, g.outbound.Past, g.loggedContents(feeds, old.lists))
	if err == nil {
		v.places, err = placesOf(c)
	}
	if err == nil {
		v.hops, err = g.hops.now()
	}
	if err == nil {
		err = g.room.fits(old, v)
	}
	if err == nil {
		err = errors.Join(g.rested(v), g.lookAtSockets(v), g.checkListening(v))
	}
	if err == nil {
		err = g.switchTo(old, v)
	}
	if err != nil {
		return api.Reload{}, fmt.Errorf("%s: %w", g.options.ConfigFile, err)
	}
	g.events.Follow(sinksOf(c))
	g.emitWatchesGone(g.watches.follow(v.watches))
	g.replaceFeeds(feeds)
	dropped := old.unlike(c)
	g.log.Info("reloaded", "generation", v.generation, "hosts", len(c.Hosts), "changes by command dropped", dropped)
	return api.Reload{Generation: v.generation, Hosts: len(c.Hosts), Dropped: dropped}, nil
}

// switchTo puts a view into force. What takes long comes before names and flows have to
// wait for it.
func (g *Gateway) switchTo(old, v *view) (err error) {
	names, err := g.namesOf(v)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			g.states.Forget()
		}
	}()
	v.balances = balancesOf(v.config, old.balances)
	defer func() {
		if g.view.Load() != v {
			v.balances.close(old.balances)
			return
		}
		old.balances.close(v.balances)
		if g.attend != nil {
			g.attend(v.balances)
		}
	}()
	chains, err := g.data.MakeChains(buildChains(v, &g.states))
	if err != nil {
		return err
	}
	defer chains.Close()
	if err := g.put(old, v, names, chains); err != nil {
		return fmt.Errorf("the change failed and was rolled back: %w", err)
	}
	g.spareAgain()
	return nil
}

// room is what the tables of the data plane were made for.
type room struct{ addresses, services, bindings, ports, slots int }

func roomFor(o *datapath.Options) room {
	return room{addresses: o.Addresses, services: o.Services, bindings: o.Bindings, ports: o.BoundPorts}
}

// fits says whether the tables can take the step from one configuration to the
// next; the services of both are in the table while the generation changes.
func (r room) fits(old, v *view) error {
	addresses := map[netip.Addr]bool{}
	for _, a := range slices.Concat(v.config.Pool.Addresses, v.outbound, v.static.addresses, v.config.OneToOneAddresses()) {
		addresses[a] = true
	}
	open := map[datapath.Service]bool{}
	for _, s := range slices.Concat(old.services(), v.services()) {
		open[s] = true
	}
	var errs []error
	if n := len(v.config.Outbound.Addresses); n > r.slots {
		errs = append(errs, fmt.Errorf("outbound.addresses: %d addresses, but there are slots for %d: raise outbound.slots and restart the daemon", n, r.slots))
	}
	if len(addresses) > r.addresses {
		errs = append(errs, fmt.Errorf("pool.addresses: %d pool, outbound, static and one-to-one addresses, but the table was made for %d: restart the daemon",
			len(addresses), r.addresses))
	}
	if len(open) > r.services {
		errs = append(errs, fmt.Errorf("hosts: %d services and ports of dnat, old and new ones, but the table was made for %d: restart the daemon",
			len(open), r.services))
	}
	// Those of both may stand or rest at a time.
	if n := len(old.registry.Services()) + len(v.registry.Services()); n > r.bindings {
		errs = append(errs, fmt.Errorf("hosts: %d services, old and new ones, but the table of bindings was made for %d: restart the daemon", n, r.bindings))
	}
	if n := old.ports() + v.ports(); n > r.ports {
		errs = append(errs, fmt.Errorf("hosts: %d ports, old and new ones, but the table of bound ports was made for %d: restart the daemon", n, r.ports))
	}
	return errors.Join(errs...)
}

// names are what the name servers get.
type names struct {
	public  nameserver.PublicOptions
	private nameserver.PrivateOptions
}

// namesOf makes the name servers' options and sees to it that they are taken.
func (g *Gateway) namesOf(v *view) (names, error) {
	serial := uint32(time.Now().Unix())
	n := names{g.publicOptions(v, serial), g.privateOptions(v, serial)}
	public, private := n.public, n.private
	public.Journal, private.Journal = nil, nil // servers that are never asked tell nobody of changes
	_, err := nameserver.NewPublic(public)
	private.CacheSize = 0
	_, privateErr := nameserver.NewPrivate(private)
	return n, errors.Join(err, privateErr)
}

// fixed returns an error for each change that only a restart can make.
func fixed(file string, old, c *config.Config) error {
	var errs []error
	check := func(key string, same bool) {
		if !same {
			errs = append(errs, fmt.Errorf("%s: %s changed: restart the daemon to change it", file, key))
		}
	}
	check("interfaces", slices.Equal(old.Interfaces.Public, c.Interfaces.Public) &&
		slices.Equal(old.Interfaces.Private, c.Interfaces.Private) &&
		slices.Equal(old.Interfaces.XDP, c.Interfaces.XDP) && slices.Equal(old.Interfaces.TCX, c.Interfaces.TCX))
	check("interfaces.egress", slices.Equal(old.Interfaces.Stack, c.Interfaces.Stack))
	check("capacity", old.Capacity == c.Capacity)
	check("outbound.slots", old.Outbound.Slots == c.Outbound.Slots)
	check("dns.public", old.DNS.Public == c.DNS.Public && old.DNS.Interface == c.DNS.Interface)
	check("dns.private", old.DNS.Private == c.DNS.Private)
	check("dns.cache", old.DNS.Cache == c.DNS.Cache)
	check("pool.quotas.half_open beyond the reservation table", reservations(old) == reservations(c))
	return errors.Join(errs...)
}

// put puts the view into force. What can fail comes first, and is undone before
// anybody is lent an address: a refused view leaves no trace but, where the data plane
// had it already, the number of a generation. The name servers come last, so that they
// never deny a name that is in their zones.
func (g *Gateway) put(old, v *view, n names, chains *datapath.NextChains) error {
	if err := g.data.SetAddresses(v.config.Pool.Addresses, v.static.addresses, v.config.OneToOneAddresses()...); err != nil {
		return errors.Join(err, g.data.SetAddresses(old.config.Pool.Addresses, old.static.addresses, old.config.OneToOneAddresses()...))
	}
	var err error
	if v.generation, err = g.data.SetPolicy(datapathSettings(v), g.opened(v), chains); v.generation == 0 {
		return errors.Join(err, g.data.SetAddresses(old.config.Pool.Addresses, old.static.addresses, old.config.OneToOneAddresses()...))
	}
	if err != nil {
		return g.undo(old, err)
	}
	if err := g.clearCounts(old.counts, v.counts); err != nil {
		return g.undo(old, err)
	}
	if err := g.pool.Configure(g.allocationConfig(v)); err != nil {
		return g.undo(old, err)
	}
	g.states.Keep()
	g.view.Store(v)
	if err := g.outbound.Follow(planOf(v.config), v.outbound); err != nil {
		g.log.Error("following the outbound addresses", "error", err)
	}
	g.tellMoved()
	g.warnOfOwn(v)
	if err := g.captures.reconfigure(g.data, v); err != nil {
		g.log.Warn("a capture misses packets after this reload", "error", err)
	}
	// Both took the same options before, in namesOf.
	err = errors.Join(g.public.Reconfigure(n.public), g.private.Reconfigure(n.private))
	if err := errors.Join(g.tellLentNames(), g.beat()); err != nil {
		g.log.Warn("the data plane answers questions as before this reload", "error", err)
	}
	return err
}

// undo puts the data plane, which has switched, back to the view in force, and returns
// why.
func (g *Gateway) undo(old *view, why error) error {
	g.states.Forget()
	poolErr := g.data.SetAddresses(old.config.Pool.Addresses, old.static.addresses, old.config.OneToOneAddresses()...)
	chains, err := g.data.MakeChains(buildChains(old, &g.states))
	if err != nil {
		return errors.Join(why, poolErr, err)
	}
	defer chains.Close()
	restored := *old // others read the one in force
	if restored.generation, err = g.data.SetPolicy(datapathSettings(old), g.opened(old), chains); restored.generation > 0 {
		g.states.Keep()
		g.view.Store(&restored)
	}
	return errors.Join(why, poolErr, err)
}
