package ability

import (
	"context"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/events/event"
	"github.com/realmgate/realmgate/internal/lifecycle"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/registry"
)

// Plane makes the promises. *datapath.Datapath is one.
type Plane interface {
	SetWebPromises(promises map[netip.Addr]datapath.WebPromise) error
}

// Options are what a Service needs.
type Options struct {
	// Plane is there once a configuration is in force.
	Plane func() Plane
	// Store keeps what is known of hosts. It is there before Read and Run.
	Store func() Store
	// Events hears of each host and each pair of hosts once, until it is over or changes.
	Events interface{ Emit(event.Event) }
	Dial   Dial // nil: from this machine
	// Registered are the hosts of now with web names that come and go by themselves; nil: none do.
	Registered func() []*registry.Host
	Log        *slog.Logger
}

// Service asks the hosts of the web what they can, and does what follows. Call New.
type Service struct {
	Options
	changed chan struct{} // something is to be asked, or may be
	weak    chan weakness // what Weak has heard
	learned chan struct{} // the disk is to have something
	at      atomic.Pointer[map[model.Name]Place]
	written map[string][]byte // what the store has, by keep alone
	failed  bool              // keep, the last time

	mutex    sync.Mutex // guards what follows
	known    known
	judged   judgement
	promised map[netip.Addr]datapath.WebPromise // in the data plane
	told     map[model.Name]datapath.WebPromise // of weak hosts
	shared   map[Shared]bool                    // that were told
	unkept   bool                               // the store has it otherwise
	stale    bool                               // something is known of which nothing follows yet
	judgedAt time.Time
	visited  atomic.Bool // guests have come or gone
}

// With more than so many hosts what follows is looked at once a second, and not with each answer.
const (
	manyHosts  = 256
	judgeEvery = time.Second
)

// weakness is what a host did for a client that was to do more.
type weakness struct {
	host model.Name
	to   netip.AddrPort
	via  netip.Addr // the web address
	can  datapath.WebPromise
}

// mostWeak wait to be looked at: who is not heard costs another client its connection, and is heard then.
const mostWeak = 64

// Place is where the names of a host are answered.
type Place struct {
	At netip.Addr // the web address
	// Sure says that the host is there for long: it was there before, or all have been asked for their certificates.
	Sure bool
}

// New makes a service that knows no hosts.
func New(o Options) *Service {
	if o.Dial == nil {
		o.Dial = new(net.Dialer).DialContext
	}
	return &Service{
		Options: o, changed: make(chan struct{}, 1), weak: make(chan weakness, mostWeak), learned: make(chan struct{}, 1),
		known: newKnown(rand.Float64), told: map[model.Name]datapath.WebPromise{},
	}
}

// Prepare is the change to other hosts and web addresses, or to the same, which are asked anew.
func (s *Service) Prepare(hosts []Host, addresses []netip.Addr) lifecycle.Change {
	return lifecycle.Change{Settle: func() {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		now := time.Now()
		s.known.follow(hosts, addresses, now)
		s.apply(now)
		wake(s.changed)
		wake(s.learned)
	}}
}

// Visited has it look who has come or gone by itself. Nothing waits for it.
func (s *Service) Visited() {
	s.visited.Store(true)
	wake(s.changed)
}

// At is the place of a host, the zero value for one that is not known.
func (s *Service) At(host model.Name) Place {
	if at := s.at.Load(); at != nil {
		return (*at)[host]
	}
	return Place{}
}

// Run asks them until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	var asking sync.WaitGroup
	defer s.keep()
	defer asking.Wait()
	asking.Go(func() { s.keeps(ctx) })
	for {
		ask, again := s.turn(time.Now())
		for _, e := range ask {
			asking.Go(func() { s.ask(ctx, e) })
		}
		var later <-chan time.Time
		if !again.IsZero() {
			later = time.After(time.Until(again))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.changed:
		case w := <-s.weak:
			s.hear(w)
		case <-later:
		}
	}
}

func (s *Service) ask(ctx context.Context, e Endpoint) {
	a := s.Dial.ask(ctx, e)
	if ctx.Err() != nil {
		return // which is why
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	now := time.Now()
	if s.known.take(e, a, now) || len(s.told) > 0 { // which may be over
		s.stale = true
		s.follows(now)
	}
	wake(s.changed)
	wake(s.learned)
}

// turn is what is to be done by now: who is to be asked, and when to look again.
func (s *Service) turn(now time.Time) (ask []Endpoint, again time.Time) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	later := s.follows(now)
	ask, again = s.known.next(now)
	if again.IsZero() || !later.IsZero() && later.Before(again) {
		again = later
	}
	return ask, again
}

// follows does what follows of answers and of who has come or gone, unless that is to wait; then it says until when.
func (s *Service) follows(now time.Time) (later time.Time) {
	if !s.stale && !s.visited.Load() {
		return later
	}
	if later = s.judgedAt.Add(judgeEvery); len(s.known.hosts) > manyHosts && now.Before(later) {
		return later
	}
	if s.visited.Swap(false) && s.Registered != nil {
		s.known.visit(guestsOf(s.Registered()))
	}
	s.apply(now)
	return time.Time{}
}

// wake has who waits look once more.
func wake(who chan struct{}) {
	select {
	case who <- struct{}{}:
	default:
	}
}

// Weak takes in that a host could do less for a client than a web address had promised: so no other is promised that. It waits
// for nothing.
func (s *Service) Weak(host model.Name, to netip.AddrPort, via netip.Addr, can datapath.WebPromise) {
	select {
	case s.weak <- weakness{host, to, via, can}:
	default:
	}
}

func (s *Service) hear(w weakness) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	now := time.Now()
	if !s.known.hear(w, now) {
		return
	}
	s.tell(w.host, w.via, s.known.promises(w.host, now), true)
	s.apply(now)
	wake(s.learned)
}

// apply does what follows of what is known. First the promises: a host is then nowhere where more was promised.
func (s *Service) apply(now time.Time) {
	s.judged, s.unkept, s.stale, s.judgedAt = s.known.judge(now), true, false, now
	if !maps.Equal(s.judged.promises, s.promised) {
		if err := s.Plane().SetWebPromises(s.judged.promises); err != nil {
			s.Log.Error("web promises not in force", "error", err)
		} else {
			s.promised = s.judged.promises
		}
	}
	places := make(map[model.Name]Place, len(s.judged.at))
	all := s.known.areAsked()
	for host, at := range s.judged.at {
		places[host] = Place{at, s.known.isSure(host, all)}
	}
	s.at.Store(&places)
	for _, w := range s.judged.weak {
		if !w.Unknown {
			s.tell(w.Host, w.Address, w.Can, false)
		}
	}
	weak := s.judged.weakHosts()
	maps.DeleteFunc(s.told, func(host model.Name, _ datapath.WebPromise) bool {
		return !weak[host] && !s.known.isHeard(host, now)
	})
	shared := map[Shared]bool{}
	for _, pair := range s.judged.shared {
		if shared[pair] = true; !s.shared[pair] {
			s.Log.Warn("certificate shared", "host", pair.Host, "other", pair.Other, "name", pair.Name, "address", pair.Address)
			s.Events.Emit(event.CertificateShared{
				Host: pair.Host.String(), Other: pair.Other.String(), Name: pair.Name.String(), Address: pair.Address,
			})
		}
	}
	s.shared = shared
}

// tell tells once what a weak host can. ended: it has cost a client its connection.
func (s *Service) tell(host model.Name, at netip.Addr, can datapath.WebPromise, ended bool) {
	if before, is := s.told[host]; is && before == can {
		return
	}
	s.told[host] = can
	s.Log.Warn("host can less than others", "host", host, "address", at, "mss", can.MSS, "sack", can.SACK, "timestamps", can.Timestamps, "ended", ended)
	s.Events.Emit(event.HostWeak{
		Host: host.String(), Address: at, MSS: can.MSS, SACK: can.SACK, Timestamps: can.Timestamps, Ended: ended,
	})
}

// Report adds what people should know.
func (s *Service) Report(status *api.Status) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	status.Warnings = append(status.Warnings, s.judged.warnings()...)
	return nil
}
