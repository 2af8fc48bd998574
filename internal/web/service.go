package web

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/events/event"
	"github.com/realmgate/realmgate/internal/model"
)

// Plane is what the service needs of the data plane.
type Plane interface {
	kernel
	WebEvents() (*datapath.Events[datapath.WebEvent], error)
	WebHeartbeat() error
	ForgetAllWeb() error
	EndSessions(match func(datapath.Session) bool) (int, error)
}

// Options are what a Service needs.
type Options struct {
	// Plane is there once the service runs.
	Plane func() Plane
	// Find says where a name leads, in lower case and without the final dot, that a connection asks for.
	Find func(name string, flow model.Tuple) (Target, bool)
	// Weak hears what a host could do that was to do more: what the web address of the flow had promised. Nothing waits for it.
	Weak func(target Target, flow model.Tuple, can datapath.WebPromise)
	// Serves says whether there are web addresses now.
	Serves func() bool
	// Events are told when too many connections wait, and when that is over.
	Events interface{ Emit(event.Event) }
	// Hello is how long a name may take from the first data on.
	Hello func() time.Duration
	Log   *slog.Logger
}

// Service leads connections to web addresses to their hosts. Call New.
type Service struct {
	Options
	mutex sync.Mutex // guards what follows
	table *table     // nil: it does not run
	quic  *attempts  // beside it
	full  pressure

	started model.Instant // no event is older: what waited for a daemon has its time from then on

	warned atomic.Int64 // when something was last told, ns
}

// New makes a service that does not run yet.
func New(o Options) *Service { return &Service{Options: o} }

const (
	beatEvery   = time.Second
	expireEvery = 100 * time.Millisecond
	warnEvery   = 10 * time.Second
)

// Run serves until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	plane := s.Plane()
	if err := plane.ForgetAllWeb(); err != nil {
		return err
	}
	events, err := plane.WebEvents()
	if err != nil {
		return err
	}
	s.mutex.Lock()
	s.table = newTable(plane, s.Find, func() int64 { return int64(s.Hello()) })
	s.table.weak = s.Weak
	s.quic = newAttempts(s.table)
	s.started = datapath.Now()
	s.mutex.Unlock()
	var running sync.WaitGroup
	running.Go(func() {
		events.Follow(func(err error) { s.Log.Error("web event lost", "error", err) }, s.hear)
	})
	running.Go(func() { s.beat(ctx, plane) })
	<-ctx.Done()
	_ = events.Close()
	running.Wait()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.warn(s.table.dismiss())
	return nil
}

func (s *Service) hear(e datapath.WebEvent) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	e.At = max(e.At, s.started)
	if e.Kind == datapath.WebDatagram || e.Kind == datapath.WebAnew {
		s.warn(s.quic.hear(&e))
		return
	}
	s.warn(s.table.hear(&e))
}

// beat tells the data plane that names are read, and ends what waits too long.
func (s *Service) beat(ctx context.Context, plane Plane) {
	expire, beat := time.NewTicker(expireEvery), time.NewTicker(beatEvery)
	defer expire.Stop()
	defer beat.Stop()
	alive := func() { s.warn(plane.WebHeartbeat()) } // also without web addresses: a reload may bring some, and clients at once
	alive()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			alive()
			s.tellPressure(datapath.Now())
		case <-expire.C:
			for then := datapath.Now(); s.expire(then); { // what becomes due meanwhile waits, as the data plane wants to hear of us
			}
		}
	}
}

// expire ends some of what had waited too long by then, and reports whether there is more.
func (s *Service) expire(then model.Instant) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	now := datapath.Now()
	more, err := s.table.expire(then, now)
	if !more {
		err = errors.Join(err, s.quic.expire(now))
	}
	s.warn(err)
	return more
}

// tellPressure tells when connections begin to find no place, and when that is over.
func (s *Service) tellPressure(now model.Instant) {
	s.mutex.Lock()
	begins, ends := s.full.look(s.table.counts.Full, now)
	waiting, unheard := s.table.waiting()+s.quic.waiting(), s.full.unheard
	s.mutex.Unlock()
	if begins {
		s.Events.Emit(event.WebFull{Waiting: waiting})
	}
	if ends {
		s.Events.Emit(event.WebRecovered{Unheard: unheard})
	}
}

// warn logs one error in a while: what fails for a connection fails for the next one, too.
func (s *Service) warn(err error) {
	if err == nil {
		return
	}
	now := time.Now().UnixNano()
	if last := s.warned.Load(); now-last >= int64(warnEvery) && s.warned.CompareAndSwap(last, now) {
		s.Log.Warn("web connection not served", "error", err)
	}
}

// Report adds what has become of connections to web addresses.
func (s *Service) Report(status *api.Status) error {
	if !s.Serves() {
		return nil
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if t := s.table; t != nil {
		status.Web = &api.Web{
			Waiting: t.waiting() + s.quic.waiting(), Read: t.counts.Read, Opened: t.counts.Opened, Refused: t.counts.Refused,
			Full: t.counts.Full, Again: t.counts.Again, Replayed: t.counts.Replayed, Times: t.times[:],
		}
	}
	return nil
}
