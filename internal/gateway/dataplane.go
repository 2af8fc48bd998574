package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
)

// fixedTables are the keys that the tables and the programs of the data plane were made for.
func fixedTables(d *draft) []string {
	old, c := d.before.document.Config, d.document.Config
	return changed(map[string]bool{
		"interfaces": slices.Equal(old.Interfaces.Public, c.Interfaces.Public) && slices.Equal(old.Interfaces.Private, c.Interfaces.Private) &&
			slices.Equal(old.Interfaces.XDP, c.Interfaces.XDP) && slices.Equal(old.Interfaces.TCX, c.Interfaces.TCX),
		"interfaces.egress": slices.Equal(old.Interfaces.Stack, c.Interfaces.Stack),
		"capacity":          old.Capacity == c.Capacity,
		"outbound.slots":    old.Outbound.Slots == c.Outbound.Slots,
	})
}

// prepareData opens the data plane at the start; later it says whether its tables can take the next configuration.
func (g *Gateway) prepareData(d *draft) (change, error) {
	if d.before != nil {
		if d.read {
			return change{}, g.room.fits(d.before, d.view)
		}
		return change{}, nil
	}
	tables := datapathOptions(g.options, d.view, d.outbound)
	g.room = roomFor(&tables)
	data, err := datapath.Open(tables)
	if err != nil {
		return change{}, err
	}
	g.data = data
	g.room.slots = data.MostOutbound()
	return change{}, nil
}

func (g *Gateway) closeData() error {
	if g.data == nil {
		return nil
	}
	keep := g.options.KeepDataplane
	if !g.attached { // the start has failed
		keep = g.data.Adopted()
	}
	if err := g.data.Close(keep); err != nil {
		return fmt.Errorf("stop the data plane: %w", err)
	}
	return nil
}

// prepareAttachment attaches the programs at the start.
func (g *Gateway) prepareAttachment(d *draft) (change, error) {
	if d.before != nil {
		return change{}, nil
	}
	return change{
		Commit: func() error {
			err := g.data.Attach()
			g.attached = err == nil
			return err
		},
		Settle: g.announce,
	}, nil
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

// preparePolicy compiles the next generation of the data plane's policy. Its commit is the one switch by which packets are
// judged by all of it.
func (g *Gateway) preparePolicy(d *draft) (change, error) {
	chains, err := g.data.MakeChains(buildChains(d.view, &g.states))
	if err != nil {
		g.states.Forget()
		return change{}, err
	}
	return change{
		Commit:   func() error { return g.switchPolicy(d, chains) },
		Rollback: func() error { return g.restorePolicy(d.before) },
		Settle: func() {
			g.states.Keep()
			chains.Close()
		},
		Discard: func() {
			g.states.Forget()
			chains.Close()
		},
	}, nil
}

// switchPolicy puts addresses and policy into force. A refused one leaves no trace but, where the data plane had it
// already, the number of a generation.
func (g *Gateway) switchPolicy(d *draft, chains *datapath.NextChains) error {
	d.generation = 0
	err := g.setAddresses(d.view)
	if err == nil {
		d.generation, err = g.data.SetPolicy(datapathSettings(d.view), g.opened(d.view), chains)
	}
	switch {
	case err == nil || d.before == nil:
		return err
	case d.generation == 0:
		return errors.Join(err, g.setAddresses(d.before))
	}
	return errors.Join(err, g.restorePolicy(d.before))
}

func (g *Gateway) setAddresses(v *view) error {
	return g.data.SetAddresses(v.config.Pool.Addresses, v.static.Addresses, v.config.OneToOneAddresses()...)
}

// restorePolicy puts the data plane, which has switched, back to the view in force; at the start there is none.
func (g *Gateway) restorePolicy(old *view) error {
	if old == nil {
		return nil
	}
	g.states.Forget()
	poolErr := g.setAddresses(old)
	chains, err := g.data.MakeChains(buildChains(old, &g.states))
	if err != nil {
		return errors.Join(poolErr, err)
	}
	defer chains.Close()
	restored := *old // others read the one in force
	if restored.generation, err = g.data.SetPolicy(datapathSettings(old), g.opened(old), chains); restored.generation > 0 {
		g.states.Keep()
		g.view.Store(&restored)
	}
	return errors.Join(poolErr, err)
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
	for _, a := range slices.Concat(v.config.Pool.Addresses, v.outbound, v.static.Addresses, v.config.OneToOneAddresses()) {
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

// sweepEvery is how long one sweep of all tables takes at least.
const sweepEvery = time.Second

// runSweep ages the tables, spread over time so that no CPU is held for long.
func (g *Gateway) runSweep(ctx context.Context) {
	timer := time.NewTicker(sweepEvery)
	defer timer.Stop()
	pause := func() {
		select {
		case <-ctx.Done():
		case <-time.After(time.Millisecond):
		}
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if _, err := g.data.Sweep(pause); err != nil && ctx.Err() == nil {
			g.log.Error("the sweep failed", "error", err)
		}
	}
}

// reportData says how full the tables are, and how packets ended.
func (g *Gateway) reportData(s *api.Status) error {
	usage, err := g.data.Usage()
	if err != nil {
		return err
	}
	counters, err := g.data.Counters()
	if err != nil {
		return err
	}
	if s.ChainBytes, err = g.data.ChainMemory(); err != nil {
		return err
	}
	s.Adopted, s.Slots, s.Bytes, s.Refusals = g.data.Adopted(), g.data.MostOutbound(), usage.Bytes, usage.Refusals
	s.Sessions = api.Gauge{Used: usage.Sessions, Capacity: usage.Capacity}
	s.Mappings = api.Gauge{Used: usage.Mappings, Capacity: uint64(len(g.outbound.Addresses())) * 3 * 65535}
	s.TentativeEnded, s.KnownFull = usage.TentativeEnded, usage.KnownFull
	s.SubscribersFull, s.RemotesFull = usage.SubscribersFull, usage.RemotesFull
	s.Half.Capacity = usage.Reservations
	for _, i := range g.data.Interfaces() {
		s.Interfaces = append(s.Interfaces, api.Interface{Name: i.Name, Side: i.Side, Mode: string(i.Mode), Why: i.Why, Redirect: i.Redirect})
	}
	for _, reason := range g.data.Reasons() {
		if n := counters[reason]; n > 0 {
			s.Reasons = append(s.Reasons, api.ReasonCount{Reason: reason, Packets: n})
		}
	}
	return nil
}
