package dynamic

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/names/dynamic/settings"
	"github.com/realmgate/realmgate/internal/nameserver"
	"github.com/realmgate/realmgate/internal/store"
)

// Updates are the hosts of a Service that updates of DNS register. It is a nameserver.Registrar.
type Updates struct{ *Service }

// signed is when the last update of each key was signed. Who asks waits for no disk.
type signed struct {
	mutex sync.RWMutex // guards what follows
	last  map[model.Name]uint64
}

func (s *signed) of(key model.Name) uint64 {
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	return s.last[key]
}

func (s *signed) put(key model.Name, at uint64) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.last == nil {
		s.last = map[model.Name]uint64{}
	}
	s.last[key] = max(s.last[key], at)
}

// updates is the entry of a key; nil: it registers nothing of the zone.
func (t *table) updates(zone, key model.Name) *entry {
	for _, e := range t.entries {
		if e.Source == settings.Update && e.Zone == zone && e.Key == key {
			return e
		}
	}
	return nil
}

// identifies reports a host that has gone, and whose identifiers are still there: the next client needs them to have the name.
func (t *table) identifies(h *Host) bool {
	e := t.entries[h.entry.key]
	return e != nil && len(e.clients[h.Name]) > 0
}

// Registers implements nameserver.Registrar.
func (s Updates) Registers(zone, key model.Name) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.table.updates(zone, key) != nil
}

// Signed implements nameserver.Registrar.
func (s Updates) Signed(key model.Name) uint64 { return s.signed.of(key) }

// Registration implements nameserver.Registrar.
func (s Updates) Registration(zone, key, name model.Name) nameserver.Registration {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if e := s.table.updates(zone, key); e != nil {
		return e.registration(name)
	}
	return nameserver.Registration{}
}

func (e *entry) registration(name model.Name) nameserver.Registration {
	r := nameserver.Registration{Clients: e.clients[name]}
	if h := e.hosts[name]; h != nil {
		r.Address = h.Address
	}
	return r
}

// Register implements nameserver.Registrar.
func (s Updates) Register(zone, key model.Name, changed map[model.Name]nameserver.Registration, signed uint64) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	e := s.table.updates(zone, key)
	if e == nil {
		return fmt.Errorf("%s registers no hosts of %s", key, zone)
	}
	before := map[model.Name]nameserver.Registration{}
	for name := range changed {
		before[name] = e.registration(name)
	}
	c, err := s.table.register(e, changed)
	if err == nil {
		if err = s.keepUpdate(e, changed, key, signed); err != nil {
			s.Log.Error("update not stored", "zone", zone, "key", key, "error", err)
			err = nameserver.ErrNotKept
		}
	}
	if err != nil {
		_, _ = s.table.register(e, before) // which was so a moment ago
		return err
	}
	s.signed.put(key, signed)
	s.apply(&c)
	if len(c.refused) == 0 {
		return nil
	}
	back, _ := s.table.register(e, before)
	s.apply(&back)
	return errors.Join(c.refused[0].why, s.keepUpdate(e, before, key, signed))
}

// register changes what is registered of names. On an error some of it is changed.
func (t *table) register(e *entry, changed map[model.Name]nameserver.Registration) (c changes, err error) {
	var fresh []model.Name
	for name, now := range changed {
		if !now.Empty() {
			if in, err := nameIn(e.Zone, name.String()); err != nil || in != name {
				return c, fmt.Errorf("%s is no host's name in %s", name, e.Zone)
			}
		}
		h := e.hosts[name]
		if h != nil && (h.Address != now.Address || identifier(e.clients[name]) != identifier(now.Clients)) {
			t.remove(h, &c) // another client is another host, also of the same name and address
			h = nil
		}
		if h == nil && now.Address.IsValid() {
			fresh = append(fresh, name)
		}
		delete(e.clients, name)
		if len(now.Clients) > 0 {
			e.clients[name] = now.Clients
		}
	}
	slices.Sort(fresh)
	for _, name := range fresh {
		if err := t.add(e, name, Lease{Address: changed[name].Address}, &c); err != nil {
			return c, err
		}
	}
	if len(e.clients) > e.Most() {
		return c, errFull
	}
	return c, nil
}

// keepUpdate has an update be on the disk before it is answered.
func (s Updates) keepUpdate(e *entry, changed map[model.Name]nameserver.Registration, key model.Name, signed uint64) error {
	hosts := store.Edit{Bucket: bucket, Put: map[string][]byte{}}
	for name, now := range changed {
		if now.Empty() {
			hosts.Remove = append(hosts.Remove, name.String())
			continue
		}
		value, err := json.Marshal(kept{Entry: e.key, Address: now.Address, Clients: now.Clients})
		if err != nil {
			return err
		}
		hosts.Put[name.String()] = value
	}
	last := strconv.FormatUint(max(s.signed.of(key), signed), 10)
	return s.store.ChangeAll(hosts, store.Edit{Bucket: signedBucket, Put: map[string][]byte{key.String(): []byte(last)}})
}
