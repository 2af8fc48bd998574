package pact

import (
	"errors"
	"iter"
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// Why there is no pact.
var (
	ErrExhausted = errors.New("no number or proxy address is free")
	ErrHostQuota = errors.New("the host has as many pacts as one host may have")
	ErrEdgeQuota = errors.New("there are as many pacts with the edge as there may be with one")
	ErrGone      = errors.New("there is no such pact")
	ErrMoved     = errors.New("the name stands for another machine than the pact that it has: end that first")
	ErrAdopt     = errors.New("cannot be adopted")
)

// MostPacts is how many numbers there are: 16 bits of a tag, and 0 is none.
const MostPacts = 65535

// Options are how a Store is. Random is drawn from in New alone; Secret is kept by the caller, so that names find their
// addresses again.
type Options struct {
	Proxy            netip.Prefix // IPv4, /16 to /28
	Most             int          // pacts, at most MostPacts
	Rest, Idle       time.Duration
	PerHost, PerEdge int
	Random           func() uint64
	Secret           [16]byte
}

// Store keeps all pacts of a gateway; see the package.
type Store struct {
	options Options
	entries []*entry // by number
	numbers *numbers
	byKey   map[Key]*entry
	byProxy map[netip.Addr]*entry
	places  *places
	timers  timers
	quotas  *quotas
}

// entry is an opening or live pact.
type entry struct {
	Pact
	asked   bool          // its host asked for it
	prior   *rest         // of an opening one: its address rested for the same key until then
	granted model.Instant // when the lease was given
	renews  model.Instant // when to prolong it
	at      model.Instant // when timers looks at it, no later than the first thing that is due
	place   int           // in timers
}

// New makes a Store without pacts.
func New(o Options) *Store {
	q := &quotas{perHost: o.PerHost, perEdge: o.PerEdge, hosts: make(map[netip.Addr]int), edges: make(map[string]int)}
	return &Store{
		options: o, entries: make([]*entry, o.Most+1), numbers: newNumbers(o.Most, o.Random), quotas: q,
		byKey: make(map[Key]*entry), byProxy: make(map[netip.Addr]*entry), places: newPlaces(o.Proxy, q),
	}
}

// ByKey finds an opening or live pact.
func (s *Store) ByKey(k Key) (Pact, bool) { return found(s.byKey[k]) }

// ByTag finds an opening or live pact by our own tag.
func (s *Store) ByTag(own uint32) (Pact, bool) {
	if e := s.numbered(uint16(own)); e != nil && e.Own == own {
		return e.Pact, true
	}
	return Pact{}, false
}

// ByProxy finds the live pact that a host may reach by a proxy address.
func (s *Store) ByProxy(host, proxy netip.Addr) (Pact, bool) {
	if e := s.byProxy[proxy]; e != nil && e.State == Live && e.Host == host {
		return e.Pact, true
	}
	return Pact{}, false
}

// All lists the pacts, the opening and live ones by their numbers first, then what rests, in no order. An address that an
// opening pact has may rest as well: until that is settled. The Store must not be changed meanwhile.
func (s *Store) All() iter.Seq[Pact] {
	return func(yield func(Pact) bool) {
		for _, e := range s.entries {
			if e != nil && (!yield(e.Pact) || e.prior != nil && !yield(e.prior.pact)) {
				return
			}
		}
		for _, r := range s.places.resting {
			if !yield(r.pact) {
				return
			}
		}
	}
}

// Usage is how much of the bounds is in use.
type Usage struct{ Pacts, Most, Proxies, Resting, Usable int }

// Usage counts; Proxies are those of pacts, and Usable is all of the range, of which Resting may be a part outside of it.
func (s *Store) Usage() Usage {
	return Usage{len(s.byProxy), s.options.Most, len(s.byProxy), len(s.places.resting), len(s.places.usable)}
}

func found(e *entry) (Pact, bool) {
	if e == nil {
		return Pact{}, false
	}
	return e.Pact, true
}

func (s *Store) numbered(number uint16) *entry {
	if int(number) >= len(s.entries) {
		return nil
	}
	return s.entries[number]
}
