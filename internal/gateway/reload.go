package gateway

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/pool"
)

// Reload implements api.Gateway: the file is read and checked whole before
// anything changes, and what was in force is put back if a step fails.
func (g *Gateway) Reload() (api.Reload, error) {
	g.reload.Lock()
	defer g.reload.Unlock()
	c, err := config.Load(g.options.ConfigFile)
	if err != nil {
		return api.Reload{}, err
	}
	old := g.view.Load()
	if err := fixed(g.options.ConfigFile, old.config, c); err != nil {
		return api.Reload{}, err
	}
	v, err := newView(c)
	if err != nil {
		return api.Reload{}, err
	}
	if err := g.put(v); err != nil {
		return api.Reload{}, errors.Join(fmt.Errorf("the reload failed and was rolled back: %w", err), g.put(old))
	}
	g.log.Info("reloaded", "generation", v.generation, "hosts", len(c.Hosts))
	return api.Reload{Generation: v.generation, Hosts: len(c.Hosts)}, nil
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
		slices.Equal(old.Interfaces.Private, c.Interfaces.Private))
	check("capacity", old.Capacity == c.Capacity)
	check("outbound.addresses", slices.Equal(old.Outbound.Addresses, c.Outbound.Addresses))
	check("dns.public", old.DNS.Public == c.DNS.Public)
	check("dns.private", old.DNS.Private == c.DNS.Private)
	check("dns.cache", old.DNS.Cache == c.DNS.Cache)
	check("pool.quotas.half_open beyond the reservation table", reservations(old) == reservations(c))
	return errors.Join(errs...)
}

// put puts the view into force.
func (g *Gateway) put(v *view) error {
	serial := uint32(time.Now().Unix())
	if err := g.public.Reconfigure(g.publicOptions(v.config, serial)); err != nil {
		return err
	}
	if err := g.private.Reconfigure(g.privateOptions(v.config, serial)); err != nil {
		return err
	}
	g.mutex.Lock()
	defer g.mutex.Unlock()
	now := datapath.Now()
	withdrawn, err := g.pool.Reconfigure(now, poolOptions(v.config, reservations(v.config)))
	if err != nil {
		return err
	}
	for _, r := range withdrawn {
		_, _ = g.data.Withdraw(r.ID)
	}
	g.admission.Reconfigure(policyOptions(v.config))
	if err := g.data.SetPool(v.config.Pool.Addresses); err != nil {
		return err
	}
	if v.generation, err = g.data.SetPolicy(datapathSettings(v.config), services(v.config)); err != nil {
		return err
	}
	g.view.Store(v)
	g.withdrawClosed(v)
	g.wake() // addresses may be new, or free again
	return nil
}

// withdrawClosed takes back the reservations whose service is no more.
func (g *Gateway) withdrawClosed(v *view) {
	now := datapath.Now()
	var closed []uint64
	for r := range g.pool.All() {
		if (r.State == pool.Offered || r.State == pool.Claimed) && !stands(v, &r) {
			closed = append(closed, r.ID)
		}
	}
	for _, id := range closed {
		_, _ = g.data.Withdraw(id)
		g.pool.Withdraw(now, id)
	}
}

// stands reports whether the reservation's name still means the same.
func stands(v *view, r *pool.Reservation) bool {
	entry, ok := v.registry.Lookup(r.Name)
	if !ok || entry.Host.Address != r.Host {
		return false
	}
	if entry.Service == nil {
		return r.Port == 0
	}
	return entry.Service.Protocol == r.Protocol && entry.Service.Port == r.Port && entry.Service.To == r.HostPort
}
