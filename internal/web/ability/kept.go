package ability

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
)

// bucket of the store's file. Its keys are names of hosts.
const bucket = "web hosts"

// Store keeps what outlives a restart. *store.Store is one.
type Store interface {
	Change(bucket string, put map[string][]byte, remove []string) error
	Each(bucket string, visit func(key string, value []byte) error) error
}

// kept is a host on the disk: where its names were answered, which resolvers and browsers remember, and what its endpoints
// showed.
type kept struct {
	At        netip.Addr     `json:"at"` // the web address
	Endpoints []keptEndpoint `json:"endpoints,omitempty"`
}

// keptEndpoint is the names of an endpoint's certificates, and the least that it could do for a client, if that still counts.
type keptEndpoint struct {
	To         netip.AddrPort           `json:"to"`
	Names      []model.Name             `json:"names,omitempty"`
	Left       int                      `json:"names_more,omitempty"`
	MSS        uint16                   `json:"mss,omitempty"` // octets
	SACK       bool                     `json:"sack,omitempty"`
	Timestamps bool                     `json:"timestamps,omitempty"`
	Until      time.Time                `json:"until,omitzero"`
	Via        map[netip.Addr]time.Time `json:"via,omitempty"`
}

// Read takes up what the store has of an earlier daemon's hosts. It is to be called once, before the first change.
func (s *Service) Read() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	k := &s.known
	k.at, k.of, k.placed = map[model.Name]netip.Addr{}, map[netip.AddrPort]*record{}, map[model.Name]netip.Addr{}
	var faults []error
	places := map[model.Name]Place{}
	s.written = map[string][]byte{}
	err := s.Store().Each(bucket, func(key string, value []byte) error {
		s.written[key] = slices.Clone(value) // which is the store's own
		var host kept
		if err := json.Unmarshal(value, &host); err != nil {
			faults = append(faults, fmt.Errorf("%q: %w", key, err))
			return nil
		}
		k.restore(model.Name(key), &host)
		places[model.Name(key)] = Place{host.At, true}
		return nil
	})
	s.at.Store(&places)
	return errors.Join(err, errors.Join(faults...))
}

func (k *known) restore(host model.Name, from *kept) {
	k.at[host], k.placed[host] = from.At, from.At
	for _, e := range from.Endpoints {
		r := &record{
			names: e.Names, left: e.Left,
			heard: datapath.WebPromise{MSS: e.MSS, SACK: e.SACK, Timestamps: e.Timestamps}, until: e.Until, via: maps.Clone(e.Via),
		}
		if r.via == nil {
			r.via = map[netip.Addr]time.Time{}
		}
		k.of[e.To] = r
	}
}

// onDisk is what the disk is to have.
func (k *known) onDisk(now time.Time) (map[string][]byte, error) {
	all := make(map[string][]byte, k.ours) // guests are asked as they come
	for i := range k.ours {
		host := k.hosts[i].Name
		one := kept{At: k.at[host]}
		for _, to := range k.endpoints[host] {
			r := k.of[to]
			e := keptEndpoint{To: to, Names: r.names, Left: r.left}
			if now.Before(r.until) {
				e.MSS, e.SACK, e.Timestamps, e.Until, e.Via = r.heard.MSS, r.heard.SACK, r.heard.Timestamps, r.until.Round(0), r.viaNow(now)
			}
			one.Endpoints = append(one.Endpoints, e)
		}
		if !one.At.IsValid() {
			continue
		}
		value, err := json.Marshal(one)
		if err != nil {
			return nil, err
		}
		all[string(host)] = value
	}
	return all, nil
}

// viaNow are the web addresses at which it still matters what was heard, by the wall clock.
func (r *record) viaNow(now time.Time) map[netip.Addr]time.Time {
	via := map[netip.Addr]time.Time{}
	for a, until := range r.via {
		if now.Before(until) {
			via[a] = until.Round(0)
		}
	}
	return via
}

// keeps keeps what changes until ctx ends: nobody waits for the disk.
func (s *Service) keeps(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.learned:
			s.keep()
		}
	}
}

// keep writes what has changed. What fails is told once, and tried again with the next answer of a host.
func (s *Service) keep() {
	s.mutex.Lock()
	if !s.unkept {
		s.mutex.Unlock()
		return
	}
	all, err := s.known.onDisk(time.Now())
	s.unkept = false
	s.mutex.Unlock()
	if err == nil {
		err = s.write(all)
	}
	if err != nil {
		s.mutex.Lock()
		s.unkept = true
		s.mutex.Unlock()
		if !s.failed {
			s.Log.Error("web hosts not kept", "hint", "after a restart they may be at other web addresses", "error", err)
		}
	}
	s.failed = err != nil
}

// write has the store know these, and no others.
func (s *Service) write(all map[string][]byte) error {
	put, remove := maps.Clone(all), []string(nil)
	for host, value := range s.written {
		if now, stays := all[host]; !stays {
			remove = append(remove, host)
		} else if bytes.Equal(now, value) {
			delete(put, host)
		}
	}
	if err := s.Store().Change(bucket, put, remove); err != nil {
		return err
	}
	s.written = all
	return nil
}
