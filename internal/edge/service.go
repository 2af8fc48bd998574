package edge

import (
	"crypto/tls"
	"fmt"
	"slices"
	"sync"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/edge/link"
	"github.com/realmgate/realmgate/internal/edge/pact"
	"github.com/realmgate/realmgate/internal/edge/policy"
	"github.com/realmgate/realmgate/internal/edge/settings"
	"github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/lifecycle"
	"github.com/realmgate/realmgate/internal/model"
)

// Service has the pacts of hosts inside with names behind other edges. Call New.
type Service struct {
	Options
	process string // drawn at each start
	secret  [16]byte
	renewed chan struct{} // has room for one: the configuration is another

	mu        sync.Mutex // guards what follows
	config    settings.Edges
	certified tls.Certificate
	out, in   []policy.Rule
	links     *link.Links // nil: there are no edges
	pacts     *pact.Store // nil as long as there never were
	peers     map[model.Name]*peer
	opening   map[pact.Key]*opening
	stopping  bool
}

// New makes a service without edges.
func New(o Options) *Service {
	s := &Service{
		Options: o, renewed: make(chan struct{}, 1), peers: map[model.Name]*peer{}, opening: map[pact.Key]*opening{},
	}
	s.process = fmt.Sprintf("%016x", random())
	return s
}

// What a Service does, by whom it has to do with. They share its state.
type (
	far  struct{ *Service } // peers; a link.Handler
	near struct{ *Service } // hosts inside that ask
	life struct{ *Service } // pacts, and how they end
)

// configured is what is prepared of a configuration.
type configured struct {
	settings.Edges
	out, in   []policy.Rule
	certified tls.Certificate
}

// Prepare has what is in force follow a configuration. file is the configuration's: keys lie beside it.
func (s *Service) Prepare(kept Store, file string, c settings.Edges) (lifecycle.Change, error) {
	next := configured{Edges: c, out: rulesOf(c.Out, c.Hold), in: rulesOf(c.In, c.Hold)}
	if c.Given() {
		var err error
		if next.certified, err = certificate(kept, file, c); err != nil {
			return lifecycle.Change{}, err
		}
	}
	return lifecycle.Change{Commit: func() error { return s.commit(next) }, Settle: s.follow}, nil
}

// commit puts a configuration into force.
func (s *Service) commit(c configured) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.Plane().SetEdges(planeOf(c.Edges)); err != nil {
		return err
	}
	s.config, s.out, s.in, s.certified = c.Edges, c.out, c.in, c.certified
	if !c.Given() {
		return nil
	}
	options := pact.Options{
		Proxy: c.Proxy, Most: c.Pacts, Rest: c.Rest, Idle: c.Idle, PerHost: c.Quotas.PerHost, PerEdge: c.Quotas.PerEdge, Random: random, Secret: s.secret,
	}
	if s.pacts == nil {
		s.pacts = pact.New(options)
	} else {
		s.pacts.Reconfigure(s.Now(), options)
	}
	return nil
}

// planeOf is what the data plane is to know.
func planeOf(c settings.Edges) datapath.Edges {
	if !c.Given() {
		return datapath.Edges{}
	}
	return datapath.Edges{Proxy: c.Proxy, Address: c.Listen.Addr(), Port: wire.GENEVEPort}
}

// follow tells Run that there is another configuration.
func (s *Service) follow() {
	select {
	case s.renewed <- struct{}{}:
	default:
	}
}

// peerNamed is what is known of a peer that is configured; the lock is held.
func (s *Service) peerNamed(name model.Name) *peer {
	i := slices.IndexFunc(s.config.Peers, func(p settings.Peer) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	p := s.peers[name]
	if p == nil {
		p = s.newPeer(name)
		s.peers[name] = p
	}
	p.settings = s.config.Peers[i]
	return p
}

// linkPeers are the peers as links know them.
func (s *Service) linkPeers() (list []link.Peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.config.Peers {
		list = append(list, link.Peer{Name: p.Name, Address: p.Address, Pins: p.Pins, Zones: p.Zones})
	}
	return list
}
