package lists

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/realmgate/realmgate/internal/events/event"
	"github.com/realmgate/realmgate/internal/guard/lists/settings"
	"github.com/realmgate/realmgate/internal/lifecycle"
)

const (
	// fetchedAtOnce bounds what lists take of memory and of the network at one time.
	fetchedAtOnce = 4
	// mostListed bounds the runs of addresses that all lists have together. It leaves half
	// of the data plane's table to what the file has, so that no publisher can keep the
	// gateway from starting.
	mostListed = 2_000_000
)

// Events hears which lists fail.
type Events interface {
	Emit(event.Event)
}

// Options are what a Service needs.
type Options struct {
	Folder string // has the last good copies
	Events Events
	// Take puts what lists have now into force, unless ctx has ended.
	Take func(ctx context.Context) error
	// InForce is what of the lists is in force.
	InForce func() Contents
	Log     *slog.Logger
}

// Service fetches the lists of the configuration in force. Call New.
type Service struct {
	Options
	store   *Store // nil until there was a list
	fetcher *Fetcher
	slots   chan struct{} // one for each list that is being fetched

	mutex  sync.Mutex     // guards what follows
	all    []*fetched     // in the order of the file; it changes while a configuration comes into force only
	launch func(*fetched) // makes a list be fetched; nil before serving and after
}

// New makes a service without lists.
func New(o Options) *Service { return &Service{Options: o} }

// Prepare returns what the lists of a configuration have: those that are in force already, where they are the same, and
// new ones from the disk. It is called for one configuration at a time.
func (s *Service) Prepare(wanted []settings.List) (Contents, lifecycle.Change, error) {
	next, err := s.prepare(wanted)
	if err != nil {
		return nil, lifecycle.Change{}, err
	}
	now, err := contentsOf(next, s.InForce(), mostListed)
	if err != nil {
		s.Log.Error("lists not in force", "error", err)
	}
	return now, lifecycle.Change{Settle: func() { s.replace(next) }}, nil
}

// Contents are what the lists have now; the error says which find no room.
func (s *Service) Contents() (Contents, error) { return contentsOf(s.all, s.InForce(), mostListed) }

// fetched is a list that is fetched, or is to be.
type fetched struct {
	*Feed
	config  settings.List
	now     chan struct{} // asks for a refresh that is not due
	busy    sync.Mutex    // held over a refresh, which may write to the disk
	over    bool          // it writes no more. Under busy
	failing bool          // as it was told last. Under Service.mutex
	stop    func()        // nil: it is not fetched. Under Service.mutex
}

// refresh fetches the list and decides about it, unless it is over.
func (f *fetched) refresh(ctx context.Context) error {
	f.busy.Lock()
	defer f.busy.Unlock()
	if f.over {
		return nil
	}
	_, err := f.Refresh(ctx, time.Now)
	return err
}

// rest waits for a refresh that goes on, and lets no other begin.
func (f *fetched) rest() {
	f.busy.Lock()
	defer f.busy.Unlock()
	f.over = true
}

// prepare returns the feeds of a configuration: those that run already, where they
// are the same, and new ones with their last good copies from the disk.
func (s *Service) prepare(wanted []settings.List) (next []*fetched, err error) {
	if len(wanted) == 0 {
		return nil, nil
	}
	if s.store == nil {
		if err := s.open(s.Folder); err != nil {
			return nil, err
		}
	}
	for _, l := range wanted {
		if i := slices.IndexFunc(s.all, func(f *fetched) bool { return f.config == l }); i >= 0 {
			next = append(next, s.all[i])
			continue
		}
		made, err := NewFeed(l.Name, l.URL, l.Column, l.Refresh, rand.Float64, s.fetcher, s.store)
		if err != nil {
			return nil, err
		}
		if err := made.Restore(time.Now()); err != nil {
			s.Log.Warn("list empty", "list", l.Name, "error", err)
		}
		next = append(next, &fetched{Feed: made, config: l, now: make(chan struct{}, 1)})
	}
	return next, nil
}

func (s *Service) open(folder string) (err error) {
	s.fetcher, s.slots = NewFetcher("realmgate", Limits{}), make(chan struct{}, fetchedAtOnce)
	s.store, err = OpenStore(folder)
	return err
}

// replace lets the feeds of a configuration that is in force now run. The others are
// at rest before: one of the same name may write the same file.
func (s *Service) replace(next []*fetched) {
	over := slices.DeleteFunc(slices.Clone(s.all), func(f *fetched) bool { return slices.Contains(next, f) })
	s.mutex.Lock()
	for _, f := range over {
		if f.stop != nil {
			f.stop()
		}
	}
	gone := handFailures(over, next)
	s.mutex.Unlock()
	for _, name := range gone { // there are none of their names
		s.Events.Emit(event.ListRecovered{List: name})
	}
	for _, f := range over {
		f.rest()
	}
	if s.store != nil {
		names := make([]string, len(next))
		for i, f := range next {
			names[i] = f.config.Name
		}
		if err := s.store.Keep(names); err != nil {
			s.Log.Warn("stale copies of lists not removed", "error", err)
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.all = next
	for _, f := range next {
		if f.stop == nil && s.launch != nil {
			s.launch(f)
		}
	}
}

// handFailures tells lists that come in the place of others, by name, that these fail: what
// was told is over when the new ones are had, which is tried at once. It returns the names
// that have failed and are no more. Under Service.mutex.
func handFailures(over, next []*fetched) (gone []string) {
	for _, f := range over {
		if !f.failing {
			continue
		}
		i := slices.IndexFunc(next, func(n *fetched) bool { return n.config.Name == f.config.Name })
		if i < 0 {
			gone = append(gone, f.config.Name)
			continue
		}
		next[i].failing = true
		next[i].now <- struct{}{} // it is new, so that there is room
	}
	return gone
}

// Run fetches the lists until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	var running sync.WaitGroup
	s.mutex.Lock()
	s.launch = func(f *fetched) {
		its, stop := context.WithCancel(ctx)
		f.stop = stop
		running.Go(func() { s.follow(its, f) })
	}
	for _, f := range s.all {
		s.launch(f)
	}
	s.mutex.Unlock()
	<-ctx.Done()
	s.mutex.Lock()
	s.launch = nil
	s.mutex.Unlock()
	running.Wait()
	return nil
}
