package registry

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"

	"github.com/realmgate/realmgate/internal/model"
)

// Registered are hosts that come and go one by one, beside those of a snapshot: see With. What a snapshot has by itself is
// found first. Any number of goroutines may use one at once, and it costs each of them the same whatever it holds.
type Registered struct {
	mutex     sync.RWMutex // guards what follows
	entries   map[model.Name]Entry
	addresses map[netip.Addr]*Host
	web       map[netip.Addr]*Host // those with web names
	lendable  int                  // of their services
	zones     map[model.Name]int   // with hosts, and how many
}

// NewRegistered makes one that is empty.
func NewRegistered() *Registered {
	return &Registered{entries: map[model.Name]Entry{}, addresses: map[netip.Addr]*Host{}, web: map[netip.Addr]*Host{}, zones: map[model.Name]int{}}
}

// Expect makes room for so many hosts, where there is none yet.
func (g *Registered) Expect(hosts int) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if len(g.addresses) == 0 {
		g.entries, g.addresses = make(map[model.Name]Entry, hosts), make(map[netip.Addr]*Host, hosts)
	}
}

// With is the same snapshot with hosts beside it that come and go.
func (r *Registry) With(beside *Registered) *Registry {
	with := *r
	with.registered = beside
	return &with
}

// Put adds a host of a zone. Its names and its address must be nobody's yet.
func (g *Registered) Put(zone model.Name, spec HostSpec) (*Host, error) {
	h, entries, err := newHost(spec, func(n model.Name) (model.Name, bool) { return zone, n.In(zone) })
	if err != nil {
		return nil, err
	}
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if other, taken := g.addresses[h.Address]; taken {
		return nil, takenAddress(h, other)
	}
	for _, e := range entries {
		if other, taken := g.entries[e.Name]; taken {
			return nil, takenName(e, other)
		}
	}
	for _, e := range entries {
		g.entries[e.Name] = e
	}
	lendable := countLendable(h)
	if g.lendable += lendable; lendable < len(h.Services) {
		g.web[h.Address] = h
	}
	g.addresses[h.Address] = h
	g.zones[zone]++
	return h, nil
}

// Remove takes a host away again, by its name, and returns it; nil where there is none.
func (g *Registered) Remove(zone, name model.Name) *Host {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	e, known := g.entries[name]
	if !known || e.Host.Name != name {
		return nil
	}
	delete(g.entries, name)
	for _, s := range e.Host.Services {
		for _, other := range s.Names {
			delete(g.entries, other)
		}
	}
	g.lendable -= countLendable(e.Host)
	delete(g.addresses, e.Host.Address)
	delete(g.web, e.Host.Address)
	if g.zones[zone]--; g.zones[zone] == 0 {
		delete(g.zones, zone)
	}
	return e.Host
}

// countLendable is how many services of a host the pool is to have a place for.
func countLendable(h *Host) (n int) {
	for _, s := range h.Services {
		if !s.Web {
			n++
		}
	}
	return n
}

// Len counts the hosts.
func (g *Registered) Len() int {
	g.mutex.RLock()
	defer g.mutex.RUnlock()
	return len(g.addresses)
}

// Lendable counts the services that the pool is to have a place for: all but those of web names.
func (g *Registered) Lendable() int {
	g.mutex.RLock()
	defer g.mutex.RUnlock()
	return g.lendable
}

// Hosts are all of now, in no order.
func (g *Registered) Hosts() []*Host {
	g.mutex.RLock()
	defer g.mutex.RUnlock()
	return slices.Collect(maps.Values(g.addresses))
}

// WebHosts are those of now that have web names, in no order.
func (g *Registered) WebHosts() []*Host {
	g.mutex.RLock()
	defer g.mutex.RUnlock()
	return slices.Collect(maps.Values(g.web))
}

// Service finds a service by the name that identifies it.
func (g *Registered) Service(name model.Name) (*Service, bool) {
	g.mutex.RLock()
	defer g.mutex.RUnlock()
	s := g.entries[name].Service
	return s, s != nil && s.Name == name
}

// find returns what a name stands for by itself. A nil Registered has no hosts.
func (g *Registered) find(n model.Name) (Entry, bool) {
	if g == nil {
		return Entry{}, false
	}
	g.mutex.RLock()
	defer g.mutex.RUnlock()
	e, known := g.entries[n]
	return e, known
}

func (g *Registered) at(a netip.Addr) (*Host, bool) {
	if g == nil {
		return nil, false
	}
	g.mutex.RLock()
	defer g.mutex.RUnlock()
	h, known := g.addresses[a]
	return h, known
}

// above is Registry.Above for names that are, or are below, hosts of these: entry is what n stands for.
func (g *Registered) above(n model.Name, entry Entry) bool {
	if g == nil {
		return false
	}
	g.mutex.RLock()
	defer g.mutex.RUnlock()
	for zone := range g.zones {
		if zone.In(n) {
			return true
		}
	}
	return entry.Host != nil && entry.Host.Name == n && slices.ContainsFunc(entry.Host.Services, func(s *Service) bool { return s != entry.Service && s.Name.In(n) })
}

func takenAddress(h, other *Host) error {
	return fmt.Errorf("host %s has the address %s of host %s: give it its own", h.Name, h.Address, other.Name)
}

func takenName(e, other Entry) error {
	return fmt.Errorf("name %s of host %s is taken by host %s: names must be unique", e.Name, e.Host.Name, other.Host.Name)
}
