package dynamic

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/names/dynamic/settings"
)

// Host is one that has registered itself.
type Host struct {
	Name    model.Name
	Address netip.Addr
	Client  string
	Ends    time.Time // the zero value: never
	entry   *entry
	next    *entry // under which it comes again with other services
	missing bool   // in the last reading
	place   int    // among those that come
}

// Why somebody is refused. Callers compare with errors.Is.
var (
	errTaken   = errors.New("it is somebody else's")
	errStatic  = errors.New("it is the configuration's")
	errOutside = errors.New("it is in no prefix of the entry")
	errFull    = errors.New("there are as many hosts as there may be")
)

// entry is one of the configuration, with its hosts.
type entry struct {
	settings.Entry
	key   string // by which it is known over reloads and restarts
	hosts map[model.Name]*Host
	of    []int // hosts of each prefix
	// clients are the identifiers of names that updates registered, hosts or not.
	clients map[model.Name][]string
}

// entryKey names an entry by where its hosts come from.
func entryKey(e settings.Entry) string {
	return fmt.Sprintf("%s %s %s", e.Zone, e.Source, cmp.Or(e.File, e.Key.String()))
}

// table decides who has which name. It does no I/O, and one goroutine at a time uses it.
type table struct {
	realm   Realm
	entries map[string]*entry
	at      map[netip.Addr]*Host
}

func newTable() *table {
	return &table{entries: map[string]*entry{}, at: map[netip.Addr]*Host{}}
}

// named finds the host that has a name; nil: none has. Entries are few.
func (t *table) named(name model.Name) *Host {
	for _, e := range t.entries {
		if h := e.hosts[name]; h != nil {
			return h
		}
	}
	return nil
}

// changes are hosts that came and went, the latter first, and who was refused, and why.
type changes struct {
	gone, come []*Host
	refused    []refusal
	again      bool // hosts were missing: another reading says whether they have gone
	renewed    []*Host
	known      bool // those that come were there before the start
}

// comes notes that a host comes.
func (c *changes) comes(h *Host) {
	h.place = len(c.come)
	c.come = append(c.come, h)
}

// comesNot takes a host back that was to come, and reports whether it was.
func (c *changes) comesNot(h *Host) bool {
	i, last := h.place, len(c.come)-1
	if i > last || c.come[i] != h {
		return false
	}
	c.come[i] = c.come[last]
	c.come[i].place = i
	c.come = c.come[:last]
	return true
}

// refusal is why somebody is not registered.
type refusal struct {
	who string
	why error
}

func (c *changes) refuse(l Lease, why error) {
	c.refused = append(c.refused, refusal{fmt.Sprintf("%s at %s", cmp.Or(l.Name, l.Client), l.Address), why})
}

// configure takes other entries. Hosts of those that are the same stay where they may still be what they are.
func (t *table) configure(realm Realm, list []settings.Entry) (c changes) {
	t.realm = realm
	next := map[string]*entry{}
	for _, of := range list {
		e := &entry{Entry: of, key: entryKey(of), hosts: map[model.Name]*Host{}, of: make([]int, len(of.Prefixes)), clients: map[model.Name][]string{}}
		next[e.key] = e
	}
	before := t.entries
	t.entries = next
	for key, old := range before {
		now := next[key]
		if now != nil {
			now.clients = old.clients
		}
		for _, h := range old.hosts {
			if now == nil {
				t.remove(h, &c)
				continue
			}
			i, err := t.may(now, h.Name, h.Address, h)
			if err != nil {
				c.refused = append(c.refused, refusal{fmt.Sprintf("%s at %s", h.Name, h.Address), err})
				delete(now.clients, h.Name)
				t.remove(h, &c)
				continue
			}
			stays := h
			if !sameServices(old.Services, now.Services) { // it leaves, and comes with what it opens now
				another := *h
				stays, h.next = &another, now
				c.gone = append(c.gone, h)
				c.comes(stays)
			}
			delete(old.hosts, h.Name)
			stays.entry, now.hosts[h.Name], t.at[h.Address] = now, stays, stays
			now.of[i]++
		}
	}
	return c
}

func sameServices(a, b []settings.Service) bool {
	return slices.EqualFunc(a, b, settings.Service.Same)
}

// may says in which prefix of an entry a host would be, or why it may not be. self is the host where it is there already.
func (t *table) may(e *entry, name model.Name, address netip.Addr, self *Host) (prefix int, err error) {
	prefix = slices.IndexFunc(e.Prefixes, func(p netip.Prefix) bool { return p.Contains(address) })
	if prefix < 0 {
		return 0, fmt.Errorf("%w: %s", errOutside, address)
	}
	if what := t.realm.Named(name); what != "" {
		return 0, fmt.Errorf("%w: %s is %s", errStatic, name, what)
	}
	for _, s := range e.Services {
		if s.Label == "" {
			continue
		}
		if what := t.realm.Named(serviceName(s, name)); what != "" {
			return 0, fmt.Errorf("%w: %s is %s", errStatic, serviceName(s, name), what)
		}
	}
	if what := t.realm.Addressed(address); what != "" {
		return 0, fmt.Errorf("%w: %s is %s", errStatic, address, what)
	}
	if other := t.named(name); other != nil && other != self {
		return 0, fmt.Errorf("%w: %s is of %s until its lease ends", errTaken, name, other.Address)
	}
	if other := t.at[address]; other != nil && other != self {
		return 0, fmt.Errorf("%w: %s is of %s until its lease ends", errTaken, address, other.Name)
	}
	most := e.Most()
	if each := max(1, most/len(e.Prefixes)); e.of[prefix] >= each || len(e.hosts) >= most {
		return 0, fmt.Errorf("%w: %d of %s", errFull, e.of[prefix], e.Prefixes[prefix])
	}
	return prefix, nil
}

func serviceName(s settings.Service, host model.Name) model.Name {
	if s.Label == "" {
		return host
	}
	return model.Name(s.Label+".") + host
}

// add registers a host.
func (t *table) add(e *entry, name model.Name, l Lease, c *changes) error {
	prefix, err := t.may(e, name, l.Address, nil)
	if err != nil {
		return err
	}
	h := &Host{Name: name, Address: l.Address, Client: l.Client, Ends: l.Ends, entry: e}
	t.at[l.Address], e.hosts[name] = h, h
	e.of[prefix]++
	c.comes(h)
	return nil
}

// remove ends a host.
func (t *table) remove(h *Host, c *changes) {
	e := h.entry
	delete(t.at, h.Address)
	delete(e.hosts, h.Name)
	if i := slices.IndexFunc(e.Prefixes, func(p netip.Prefix) bool { return p.Contains(h.Address) }); i >= 0 {
		e.of[i]--
	}
	if !c.comesNot(h) {
		c.gone = append(c.gone, h)
	}
}

// expire ends the hosts whose leases are over, but for those of entries that are unread: their leases may be longer by now.
func (t *table) expire(now time.Time, unread func(*entry) bool) (c changes) {
	for _, e := range t.entries {
		if e.Source == settings.Listed || e.Source == settings.Update || unread(e) {
			continue
		}
		for _, h := range e.hosts {
			if !h.Ends.IsZero() && !now.Before(h.Ends) {
				t.remove(h, &c)
			}
		}
	}
	return c
}
