package rest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
)

// bucket of the store's file. Its keys are ports that the web has, or that rest.
const bucket = "web"

// Store keeps what outlives a restart. *store.Store is one.
type Store interface {
	Change(bucket string, put map[string][]byte, remove []string) error
	Each(bucket string, visit func(key string, value []byte) error) error
}

// kept is a port on the disk.
type kept struct {
	Address  netip.Addr     `json:"address"`
	Protocol model.Protocol `json:"protocol"`
	Port     uint16         `json:"port"`
	TTL      time.Duration  `json:"ttl"`            // nanoseconds: what names are answered with
	Until    time.Time      `json:"until,omitzero"` // of one that rests; zero: the web has it
}

func (k kept) key() string { return fmt.Sprintf("%s %s %d", k.Address, k.Protocol, k.Port) }

// Read are the ports that rest after a start, when the web has some: what it had before, by the store, rests from now on. What
// cannot be read is left out, and told.
func Read(s Store, has []datapath.Service, now time.Time) (Ports, error) {
	ports := Ports{}
	var faults []error
	err := s.Each(bucket, func(key string, value []byte) error {
		var k kept
		if err := json.Unmarshal(value, &k); err != nil {
			faults = append(faults, fmt.Errorf("%q: %w", key, err))
			return nil
		}
		until := k.Until
		if until.IsZero() {
			until = now.Add(k.TTL)
		}
		ports[datapath.Service{Host: k.Address, Protocol: k.Protocol, Port: k.Port}] = until
		return nil
	})
	return ports.Next(nil, has, 0, now), errors.Join(err, errors.Join(faults...))
}

// Write has the store know the ports that the web has, whose names are answered for ttl, and those that rest.
func (p Ports) Write(s Store, has []datapath.Service, ttl time.Duration) error {
	put := map[string][]byte{}
	add := func(at datapath.Service, until time.Time) error {
		k := kept{Address: at.Host, Protocol: at.Protocol, Port: at.Port, TTL: ttl, Until: until}
		value, err := json.Marshal(k)
		put[k.key()] = value
		return err
	}
	for at, until := range p {
		if err := add(at, until.Round(0)); err != nil { // by the wall clock
			return err
		}
	}
	for _, at := range has {
		if err := add(at, time.Time{}); err != nil {
			return err
		}
	}
	var remove []string
	same := true
	seen := 0
	err := s.Each(bucket, func(key string, value []byte) error {
		now, stays := put[key]
		if !stays {
			remove = append(remove, key)
		}
		same = same && string(now) == string(value)
		seen++
		return nil
	})
	if err != nil || same && seen == len(put) {
		return err
	}
	return s.Change(bucket, put, remove)
}
