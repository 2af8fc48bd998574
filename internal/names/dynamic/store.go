package dynamic

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/names/dynamic/settings"
	"github.com/realmgate/realmgate/internal/store"
)

// Buckets of the store's file.
const (
	bucket       = "registered" // by hosts' names
	signedBucket = "updates"    // when the last one of a key was signed
)

// Store keeps what outlives a restart. *store.Store is one.
type Store interface {
	Change(bucket string, put map[string][]byte, remove []string) error
	ChangeAll(edits ...store.Edit) error
	Each(bucket string, visit func(key string, value []byte) error) error
}

// kept is a host on the disk.
type kept struct {
	Entry   string     `json:"entry"`
	Address netip.Addr `json:"address,omitzero"`
	Client  string     `json:"client,omitempty"`
	Ends    time.Time  `json:"ends,omitzero"`
	Clients []string   `json:"clients,omitempty"` // of updates
}

// keeps reports whether the hosts of an entry are on the disk: others are all in a file that nobody inside can write to.
func (e *entry) keeps() bool { return e.Source != settings.Listed }

// restore takes up the hosts that an earlier process had. Those of files are there until a reading says otherwise.
func (s *Service) restore(now time.Time) (c changes, err error) {
	c.known = true
	var forgotten []string
	err = s.store.Each(bucket, func(name string, value []byte) error {
		var k kept
		if err := json.Unmarshal(value, &k); err != nil {
			s.Log.Warn("registered host not read", "host", name, "error", err)
			return nil
		}
		e, l := s.table.entries[k.Entry], Lease{Address: k.Address, Client: k.Client, Ends: k.Ends}
		if e == nil || l.over(now) || k.Address.IsValid() && s.table.add(e, model.Name(name), l, &c) != nil {
			forgotten = append(forgotten, name)
			if k.Address.IsValid() { // sessions with it have gone on without a daemon
				s.others = append(s.others, &Host{Name: model.Name(name), Address: k.Address, entry: &entry{}})
			}
			return nil
		}
		if e.Source == settings.Update {
			e.clients[model.Name(name)] = k.Clients
		} else if h := e.hosts[model.Name(name)]; h != nil {
			h.missing = true
		}
		return nil
	})
	if err == nil {
		err = s.store.Each(signedBucket, func(key string, value []byte) error {
			at, _ := strconv.ParseUint(string(value), 10, 64) // 0 where it is none
			s.signed.put(model.Name(key), at)
			return nil
		})
	}
	if err != nil {
		return c, err
	}
	return c, s.store.Change(bucket, nil, forgotten)
}

// keep writes what has changed. What the disk refuses is told, and in force even so.
func (s *Service) keep(c *changes) {
	put, remove := map[string][]byte{}, []string(nil)
	for _, h := range c.gone {
		if h.entry.keeps() && s.table.named(h.Name) == nil && !s.table.identifies(h) {
			remove = append(remove, h.Name.String())
		}
	}
	for _, list := range [][]*Host{c.come, c.renewed} {
		for _, h := range list {
			if !h.entry.keeps() || h.entry.Source == settings.Update || s.table.named(h.Name) != h {
				continue
			}
			value, err := json.Marshal(kept{Entry: h.entry.key, Address: h.Address, Client: h.Client, Ends: h.Ends})
			if err != nil {
				s.Log.Error("registered host not written", "host", h.Name, "error", err)
				continue
			}
			put[h.Name.String()] = value
		}
	}
	remove = slices.DeleteFunc(remove, func(name string) bool { return put[name] != nil }) // it has come again
	if len(put)+len(remove) == 0 {
		return
	}
	err := s.store.Change(bucket, put, remove)
	if (err == nil) == (s.fault == nil) {
		return
	}
	if s.fault = err; err != nil {
		s.Log.Error("registered hosts not stored", "hint", "they are in force; after a restart others may have their names", "error", err)
	}
}
