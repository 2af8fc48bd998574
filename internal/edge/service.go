package edge

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/realmgate/realmgate/internal/edge/link"
	"github.com/realmgate/realmgate/internal/edge/pact"
	"github.com/realmgate/realmgate/internal/edge/settings"
	"github.com/realmgate/realmgate/internal/lifecycle"
	"github.com/realmgate/realmgate/internal/model"
)

// Service has the pacts of hosts inside with names behind other edges. Call New.
type Service struct {
	Options
	process string // drawn at each start
	secret  [16]byte
	renewed chan struct{} // has room for one: the configuration is another

	owned atomic.Pointer[owned]

	mu sync.Mutex // guards what follows
	inForce
	kept      Store
	unwritten map[string][]byte    // records that the disk does not have yet; nil: one to remove
	resting   map[string]time.Time // records of addresses that rest, until when
	links     *link.Links          // nil: there are no edges
	pacts     *pact.Store          // nil as long as there never were
	peers     map[model.Name]*peer
	opening   map[pact.Key]*opening
	unended   map[uint32]unended // by our own tag
	stopping  bool
	cleared   bool                     // nothing of an earlier daemon is in the data plane
	recently  map[string]model.Instant // what was told, until when not again
}

// New makes a service without edges.
func New(o Options) *Service {
	s := &Service{
		Options: o, renewed: make(chan struct{}, 1), peers: map[model.Name]*peer{}, opening: map[pact.Key]*opening{},
		unwritten: map[string][]byte{}, unended: map[uint32]unended{}, resting: map[string]time.Time{}, recently: map[string]model.Instant{},
	}
	s.enforce(inForce{})
	s.process = fmt.Sprintf("%016x", random())
	return s
}

// What a Service does, by whom it has to do with. They share its state.
type (
	far  struct{ *Service } // peers; a link.Handler
	near struct{ *Service } // hosts inside that ask
	life struct{ *Service } // pacts, and how they end
)

// Prepare has what is in force follow a configuration. file is the configuration's, beside which keys lie; names are those that it has.
func (s *Service) Prepare(kept Store, file string, names Names, c settings.Edges) (lifecycle.Change, error) {
	s.mu.Lock()
	s.kept = kept
	s.mu.Unlock()
	next := inForce{Edges: c, names: names, out: rulesOf(c.Out, c.Hold), in: rulesOf(c.In, c.Hold)}
	if c.Given() {
		var err error
		if next.certified, err = certificate(kept, file, c); err != nil {
			return lifecycle.Change{}, err
		}
		key, err := pinOf(next.certified)
		if err != nil {
			return lifecycle.Change{}, err
		}
		s.Log.Info("edges", "name", c.Name, "listen", c.Listen.String(), "proxy", c.Proxy, "key", key, "peers", len(c.Peers))
	}
	var before inForce
	var ended []pact.Pact
	return lifecycle.Change{
		Commit:   func() (err error) { before, ended, err = life{s}.commit(next); return err },
		Rollback: func() error { return life{s}.rollback(before, ended) },
		Settle:   func() { life{s}.settle(ended); far{s}.expel(before); s.follow() },
	}, nil
}

// enforce puts a configuration into force; the lock is held.
func (s *Service) enforce(c inForce) {
	owned := ownedOf(c.Edges)
	s.inForce = c
	s.owned.Store(&owned)
}

// follow has the links be those of another configuration, and tells Run of it.
func (s *Service) follow() {
	s.mu.Lock()
	links := s.links
	s.mu.Unlock()
	if links != nil { // who is not a peer any more has no link when this returns
		links.Follow()
	}
	select {
	case s.renewed <- struct{}{}:
	default:
	}
}

// peerNamed is what is known of a peer that is configured, nil of another; the lock is held.
func (s *Service) peerNamed(name model.Name) *peer {
	i := slices.IndexFunc(s.Peers, func(p settings.Peer) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	p := s.peers[name]
	if p == nil {
		if p = s.newPeer(name); p == nil {
			return nil
		}
		s.peers[name] = p
	}
	p.settings = s.Peers[i]
	return p
}

// linkPeers are the peers as links know them.
func (s *Service) linkPeers() (list []link.Peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.Peers {
		list = append(list, link.Peer{Name: p.Name, Address: p.Address, Pins: p.Pins, Zones: p.Zones})
	}
	return list
}
