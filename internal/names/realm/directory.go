package realm

import (
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nameserver"
	"github.com/realmgate/realmgate/internal/pool"
)

// Find implements nameserver.Directory.
func (d *Realm) Find(name model.Name) (nameserver.Entry, bool) {
	entry, ok := d.Registry.Lookup(name)
	if !ok {
		return nameserver.Entry{}, false
	}
	found := nameserver.Entry{
		Address: entry.Host.Address, Encloser: entry.Encloser, Parent: d.Registry.Above(name), HTTPS: d.https[entry.Name],
	}
	if s := entry.Service; s != nil {
		found.Ports = s.Ports
		if s.Web {
			found.Web, found.WebTTL = d.webPlace(s.Owner)
		}
	}
	return found, true
}

// Exists implements nameserver.Directory.
func (d *Realm) Exists(name model.Name) bool { return d.Registry.Exists(name) }

// Reverse implements nameserver.Directory.
func (d *Realm) Reverse(address netip.Addr) (model.Name, bool) {
	host, ok := d.Registry.ByAddress(address)
	if !ok {
		return "", false
	}
	return host.Name, true
}

// Reachable shows a realm to edges.
type Reachable struct{ *Realm }

// Reach is where a name leads, and what it opens from outside: nothing where it is closed.
func (d Reachable) Reach(name model.Name) (host netip.Addr, open []model.Port, known bool) {
	entry, known := d.Registry.Lookup(name)
	if !known {
		return netip.Addr{}, nil, false
	}
	if entry.Service != nil {
		open = entry.Service.Ports
	}
	return entry.Host.Address, open, true
}

// Lent implements nameserver.Directory.
func (d *Realm) Lent(zone model.Name) []model.Name { return d.Registry.Lent(zone) }

// WebNames implements nameserver.Directory. There are none while the interface that they follow has no address.
func (d *Realm) WebNames(zone model.Name) []model.Name {
	if len(d.webAddresses) == 0 {
		return nil
	}
	return d.Registry.WebNames(zone)
}

// Lendable shows a realm to the pool's allocation.
type Lendable struct{ *Realm }

// Find implements allocation.Names.
func (l Lendable) Find(asked model.Name) (name, service model.Name, ok bool) {
	entry, ok := l.Registry.Lookup(asked)
	if !ok || entry.Service == nil || entry.Service.Web {
		return "", "", false
	}
	return entry.Name, entry.Service.Name, true
}

// Services implements allocation.Names.
func (l Lendable) Services() []pool.Service {
	all := l.Registry.Lendable()
	services := make([]pool.Service, len(all))
	for i, s := range all {
		services[i] = lendable(s)
	}
	return services
}

// Owner implements allocation.Names.
func (l Lendable) Owner(address netip.Addr) (model.Name, bool) { return l.Reverse(address) }

// Number is how the data plane's records mention a name.
func (d *Realm) Number(name model.Name) uint32 {
	if n, ok := d.numbers[name]; ok {
		return n
	}
	return d.registered.numberOf(name)
}

// Name is the name of a number, "" for none.
func (d *Realm) Name(number uint32) model.Name {
	if name := d.names[number]; name != "" {
		return name
	}
	return d.registered.nameOf(number)
}

// Names counts them, but for those of hosts that come and go.
func (d *Realm) Names() int { return len(d.names) }

// HostOf names the first host that has one of the addresses, or nobody.
func (d *Realm) HostOf(addresses ...netip.Addr) string {
	for _, address := range addresses {
		if host, ok := d.Registry.ByAddress(address); ok {
			return host.Name.String()
		}
	}
	return ""
}
