package realm

import (
	"maps"
	"slices"
	"sync"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/pool"
	"github.com/realmgate/realmgate/internal/registry"
)

// Registered are hosts that come and go one by one, and the numbers of their names. It is safe for concurrent use.
type Registered struct {
	*registry.Registered
	mutex   sync.RWMutex // guards what follows
	names   map[uint32]model.Name
	numbers map[model.Name]uint32 // of those that another name has the hash of
}

// NewRegistered makes one that is empty.
func NewRegistered() *Registered {
	return &Registered{Registered: registry.NewRegistered(), names: map[uint32]model.Name{}, numbers: map[model.Name]uint32{}}
}

// Expect makes room for so many hosts, where there is none yet.
func (d *Realm) Expect(hosts int) {
	d.registered.Expect(hosts)
	d.registered.mutex.Lock()
	defer d.registered.mutex.Unlock()
	if len(d.registered.names) == 0 {
		d.registered.names = make(map[uint32]model.Name, hosts)
	}
}

// With is the same realm with hosts beside it that come and go.
func (d *Realm) With(beside *Registered) *Realm {
	with := *d
	with.Registry, with.registered = d.Registry.With(beside.Registered), beside
	beside.mutex.RLock()
	defer beside.mutex.RUnlock()
	taken := slices.DeleteFunc(slices.Collect(maps.Keys(d.names)), func(n uint32) bool { return beside.names[n] == "" })
	if len(taken) == 0 {
		return &with
	}
	with.names, with.numbers = maps.Clone(d.names), maps.Clone(d.numbers)
	for _, n := range taken {
		name := with.names[n]
		delete(with.names, n)
		with.number(name)
	}
	return &with
}

// Put adds a host of a zone. Its names and its address must be nobody's, in the realm neither.
func (d *Realm) Put(zone model.Name, spec registry.HostSpec) (*registry.Host, error) {
	h, err := d.registered.Put(zone, spec)
	if err != nil {
		return nil, err
	}
	g := d.registered
	g.mutex.Lock()
	defer g.mutex.Unlock()
	for _, name := range namesOf(h) {
		hash := nameNumber(name)
		n := hash
		for g.names[n] != "" || d.names[n] != "" {
			n = max(1, (n+1)&mostNumber)
		}
		if g.names[n] = name; n != hash {
			g.numbers[name] = n
		}
	}
	return h, nil
}

// Remove takes a host away again, by its name; nil where there is none.
func (g *Registered) Remove(zone, name model.Name) *registry.Host {
	h := g.Registered.Remove(zone, name)
	if h == nil {
		return nil
	}
	g.mutex.Lock()
	defer g.mutex.Unlock()
	for _, name := range namesOf(h) {
		if n := g.number(name); g.names[n] == name {
			delete(g.names, n)
		}
		delete(g.numbers, name)
	}
	return h
}

// Remove takes a host of those beside the realm away again, by its name, and returns it; nil where there is none.
func (d *Realm) Remove(zone, host model.Name) *registry.Host { return d.registered.Remove(zone, host) }

// namesOf are all names of a host, its own first.
func namesOf(h *registry.Host) []model.Name {
	names := []model.Name{h.Name}
	for _, s := range h.Services {
		for _, name := range s.Names {
			if name != h.Name {
				names = append(names, name)
			}
		}
	}
	return names
}

// hosts are all of now. A nil Registered has none.
func (g *Registered) hosts() []*registry.Host {
	if g == nil {
		return nil
	}
	return g.Hosts()
}

// numberOf is the number of a name. A nil Registered has none of its own.
func (g *Registered) numberOf(name model.Name) uint32 {
	if g == nil {
		return nameNumber(name)
	}
	g.mutex.RLock()
	defer g.mutex.RUnlock()
	return g.number(name)
}

func (g *Registered) number(name model.Name) uint32 {
	if n, other := g.numbers[name]; other {
		return n
	}
	return nameNumber(name)
}

func (g *Registered) nameOf(number uint32) model.Name {
	if g == nil {
		return ""
	}
	g.mutex.RLock()
	defer g.mutex.RUnlock()
	return g.names[number]
}

// Registered implements allocation.Names.
func (l Lendable) Registered(service model.Name) (pool.Service, bool) {
	if l.registered == nil {
		return pool.Service{}, false
	}
	s, known := l.registered.Service(service)
	if !known || s.Web {
		return pool.Service{}, false
	}
	return lendable(s), true
}

// EachRegistered implements allocation.Names.
func (l Lendable) EachRegistered(visit func(pool.Service)) {
	for _, h := range l.registered.hosts() {
		for _, s := range h.Services {
			if !s.Web {
				visit(lendable(s))
			}
		}
	}
}

// CountRegistered implements allocation.Names.
func (l Lendable) CountRegistered() int {
	if l.registered == nil {
		return 0
	}
	return l.registered.Lendable()
}

func lendable(s *registry.Service) pool.Service {
	return pool.Service{Name: s.Name, Owner: s.Owner, Identity: s.Identity, Client: s.Client, Zones: s.Zones, Host: s.Host, Ports: s.Ports}
}
