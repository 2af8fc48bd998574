package edge

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/edge/pact"
	"github.com/realmgate/realmgate/internal/edge/policy"
	"github.com/realmgate/realmgate/internal/model"
)

// bucket of the store's file. Its keys are those below, "pact " and our own tag, and "link " and a peer's name.
const (
	bucket      = "edges"
	keyOfOwn    = "key"    // of the pair that we have made ourselves: PKCS #8. A certificate is made of it at each start
	keyOfSecret = "secret" // 16 octets: names find their proxy addresses again by it
	prefixPact  = "pact "
	prefixLink  = "link "
)

// keptPact is a pact on the disk: what the data plane has no place for. One that has ended stays as long as its proxy address rests.
type keptPact struct {
	Host   netip.Addr     `json:"host"`
	Local  model.Name     `json:"local"`
	Remote model.Name     `json:"remote"`
	Proxy  netip.Addr     `json:"proxy"`
	Peer   uint32         `json:"peer"` // tag
	Other  uint64         `json:"other"`
	Shown  uint64         `json:"shown,omitempty"`
	Edge   string         `json:"edge"`
	Rule   [2]int         `json:"rule"`
	Terms  policy.Terms   `json:"terms"`
	Vouch  policy.Vouched `json:"vouched"`
	Opened time.Time      `json:"opened"`
	Rests  time.Time      `json:"rests,omitzero"` // until then; zero: it stands
}

// keptLink is what a peer knows our side of its link by.
type keptLink struct {
	Number uint32 `json:"number"`
	Here   uint32 `json:"here"`
	Epoch  uint8  `json:"epoch"`
}

func keyOfPact(own uint32) string { return fmt.Sprintf("%s%08x", prefixPact, own) }

// writePact has a pact be on the disk soon; rests is zero while it stands. The lock is held.
func (s life) writePact(p pact.Pact, rests time.Time) {
	opened := time.Now().Add(-s.Now().Sub(p.Opened))
	s.write(keyOfPact(p.Own), keptPact{
		Host: p.Host, Local: p.Local, Remote: p.Remote, Proxy: p.Proxy, Peer: p.Peer, Other: p.Other, Shown: p.Shown, Edge: p.Peers, Rule: p.Rule, Terms: p.Terms, Vouch: p.Vouched,
		Opened: opened.Round(time.Millisecond), Rests: rests,
	})
}

func (s life) write(key string, record any) {
	value, err := json.Marshal(record)
	if err != nil {
		s.Log.Error("record of edges not written", "key", key, "error", err)
		return
	}
	s.unwritten[key] = value
}

// flush writes to the disk what has changed.
func (s life) flush() {
	s.mu.Lock()
	put := s.unwritten
	s.unwritten = map[string][]byte{}
	var remove []string
	for key, value := range put {
		if value == nil {
			remove = append(remove, key)
			delete(put, key)
		}
	}
	kept := s.kept
	s.mu.Unlock()
	if len(put)+len(remove) == 0 || kept == nil {
		return
	}
	if err := kept.Change(bucket, put, remove); err != nil {
		s.Log.Error("pacts not kept", "error", err)
		s.mu.Lock()
		defer s.mu.Unlock()
		for key, value := range put {
			if _, newer := s.unwritten[key]; !newer {
				s.unwritten[key] = value
			}
		}
	}
}

// sweep forgets records of addresses that have rested; the lock is held.
func (s life) sweep(now time.Time) {
	for key, until := range s.resting {
		if now.After(until) {
			s.unwritten[key] = nil
			delete(s.resting, key)
		}
	}
}

// keptRecords are what the disk has.
type keptRecords struct {
	secret []byte
	pacts  map[uint32]keptPact
	links  map[model.Name]keptLink
}

func readKept(kept Store) (r keptRecords, err error) {
	r = keptRecords{pacts: map[uint32]keptPact{}, links: map[model.Name]keptLink{}}
	err = kept.Each(bucket, func(key string, value []byte) error {
		switch {
		case key == keyOfSecret:
			r.secret = slices.Clone(value)
		case strings.HasPrefix(key, prefixPact):
			var own uint32
			var p keptPact
			if _, err := fmt.Sscanf(key[len(prefixPact):], "%08x", &own); err != nil {
				return nil // of no version that we know
			}
			if err := json.Unmarshal(value, &p); err == nil {
				r.pacts[own] = p
			}
		case strings.HasPrefix(key, prefixLink):
			var l keptLink
			if err := json.Unmarshal(value, &l); err == nil {
				r.links[model.Name(key[len(prefixLink):])] = l
			}
		}
		return nil
	})
	return r, err
}

// owns are the tags of records, in order.
func (r *keptRecords) owns() []uint32 { return slices.Sorted(maps.Keys(r.pacts)) }
