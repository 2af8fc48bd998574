package gateway

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/guard/lists"
)

const (
	// fetchedAtOnce bounds what lists take of memory and of the network at one time.
	fetchedAtOnce = 4
	// mostListed bounds the runs of addresses that all lists have together. It leaves half
	// of the data plane's table to what the file has, so that no publisher can keep the
	// gateway from starting.
	mostListed = 2_000_000
)

// feeds are the lists of the configuration in force.
type feeds struct {
	store   *lists.Store // nil until there was a list
	fetcher *lists.Fetcher
	slots   chan struct{} // one for each list that is being fetched

	mutex  sync.Mutex  // guards what follows
	all    []*feed     // in the order of the file; it changes under Gateway.reload only
	launch func(*feed) // makes a list be fetched; nil before serving and after
}

// feed is a list that is fetched, or is to be.
type feed struct {
	*lists.Feed
	config  config.List
	now     chan struct{} // asks for a refresh that is not due
	busy    sync.Mutex    // held over a refresh, which may write to the disk
	over    bool          // it writes no more. Under busy
	failing bool          // as it was told last. Under feeds.mutex
	stop    func()        // nil: it is not fetched. Under feeds.mutex
}

// refresh fetches the list and decides about it, unless it is over.
func (f *feed) refresh(ctx context.Context) error {
	f.busy.Lock()
	defer f.busy.Unlock()
	if f.over {
		return nil
	}
	_, err := f.Refresh(ctx, time.Now)
	return err
}

// rest waits for a refresh that goes on, and lets no other begin.
func (f *feed) rest() {
	f.busy.Lock()
	defer f.busy.Unlock()
	f.over = true
}

// prepareLists gives a draft what lists have.
func (g *Gateway) prepareLists(d *draft) (change, error) {
	if !d.read {
		return change{}, nil
	}
	feeds, err := g.prepareFeeds(d.config)
	if err != nil {
		return change{}, err
	}
	var before contents
	if d.before != nil {
		before = d.before.lists
	}
	d.lists = g.loggedContents(feeds, before)
	return change{Settle: func() { g.replaceFeeds(feeds) }}, nil
}

// prepareFeeds returns the feeds of a configuration: those that run already, where they
// are the same, and new ones with their last good copies from the disk.
func (g *Gateway) prepareFeeds(c *config.Config) (next []*feed, err error) {
	s := &g.feeds
	if len(c.Lists) == 0 {
		return nil, nil
	}
	if s.store == nil {
		if err := s.open(filepath.Join(stateDirectory, g.options.Instance+".lists")); err != nil {
			return nil, err
		}
	}
	for _, l := range c.Lists {
		if i := slices.IndexFunc(s.all, func(f *feed) bool { return f.config == l }); i >= 0 {
			next = append(next, s.all[i])
			continue
		}
		made, err := lists.NewFeed(l.Name, l.URL, l.Column, l.Refresh, rand.Float64, s.fetcher, s.store)
		if err != nil {
			return nil, err
		}
		if err := made.Restore(time.Now()); err != nil {
			g.log.Warn("a list begins empty", "list", l.Name, "error", err)
		}
		next = append(next, &feed{Feed: made, config: l, now: make(chan struct{}, 1)})
	}
	return next, nil
}

func (s *feeds) open(folder string) (err error) {
	s.fetcher, s.slots = lists.NewFetcher("realmgate", lists.Limits{}), make(chan struct{}, fetchedAtOnce)
	s.store, err = lists.OpenStore(folder)
	return err
}

// replaceFeeds lets the feeds of a configuration that is in force now run. The others are
// at rest before: one of the same name may write the same file.
func (g *Gateway) replaceFeeds(next []*feed) {
	s := &g.feeds
	over := slices.DeleteFunc(slices.Clone(s.all), func(f *feed) bool { return slices.Contains(next, f) })
	s.mutex.Lock()
	for _, f := range over {
		if f.stop != nil {
			f.stop()
		}
	}
	gone := handFailures(over, next)
	s.mutex.Unlock()
	g.emitListsGone(gone)
	for _, f := range over {
		f.rest()
	}
	if s.store != nil {
		names := make([]string, len(next))
		for i, f := range next {
			names[i] = f.config.Name
		}
		if err := s.store.Keep(names); err != nil {
			g.log.Warn("copies of lists that are no more stay on the disk", "error", err)
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
// that have failed and are no more. Under feeds.mutex.
func handFailures(over, next []*feed) (gone []string) {
	for _, f := range over {
		if !f.failing {
			continue
		}
		i := slices.IndexFunc(next, func(n *feed) bool { return n.config.Name == f.config.Name })
		if i < 0 {
			gone = append(gone, f.config.Name)
			continue
		}
		next[i].failing = true
		next[i].now <- struct{}{} // it is new, so that there is room
	}
	return gone
}

// runLists fetches the lists until ctx ends.
func (g *Gateway) runLists(ctx context.Context) {
	s := &g.feeds
	var running sync.WaitGroup
	s.mutex.Lock()
	s.launch = func(f *feed) {
		its, stop := context.WithCancel(ctx)
		f.stop = stop
		running.Go(func() { g.followList(its, f) })
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
}
