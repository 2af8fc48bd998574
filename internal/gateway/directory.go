package gateway

import (
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nameserver"
	"github.com/realmgate/realmgate/internal/pool"
)

// directory shows a view to the name servers.
type directory struct{ *view }

func (g *Gateway) directory() nameserver.Directory { return directory{g.view.Load()} }

// Find implements nameserver.Directory.
func (d directory) Find(name model.Name) (nameserver.Entry, bool) {
	entry, ok := d.registry.Lookup(name)
	if !ok {
		return nameserver.Entry{}, false
	}
	found := nameserver.Entry{
		Address: entry.Host.Address, Encloser: entry.Encloser, Parent: d.registry.Above(name), HTTPS: d.https[entry.Name],
	}
	if s := entry.Service; s != nil {
		found.Ports = s.Ports
	}
	return found, true
}

// Exists implements nameserver.Directory.
func (d directory) Exists(name model.Name) bool { return d.registry.Exists(name) }

// Reverse implements nameserver.Directory.
func (d directory) Reverse(address netip.Addr) (model.Name, bool) {
	host, ok := d.registry.ByAddress(address)
	if !ok {
		return "", false
	}
	return host.Name, true
}

// Lent implements nameserver.Directory.
func (d directory) Lent(zone model.Name) []model.Name { return d.registry.Lent(zone) }

// lendable shows a view to the pool's allocation.
type lendable struct{ *view }

// Find implements allocation.Names.
func (l lendable) Find(asked model.Name) (name, service model.Name, ok bool) {
	entry, ok := l.registry.Lookup(asked)
	if !ok || entry.Service == nil {
		return "", "", false
	}
	return entry.Name, entry.Service.Name, true
}

// Services implements allocation.Names.
func (l lendable) Services() []pool.Service {
	all := l.registry.Services()
	services := make([]pool.Service, len(all))
	for i, s := range all {
		services[i] = pool.Service{Name: s.Name, Owner: s.Owner, Zones: s.Zones, Host: s.Host, Ports: s.Ports}
	}
	return services
}

// Number implements allocation.Names.
func (l lendable) Number(name model.Name) uint32 { return l.numberOf(name) }

// Name implements allocation.Names.
func (l lendable) Name(number uint32) model.Name { return l.names[number] }
