package gateway

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/protect/lists"
)

// fetchedAtOnce bounds what lists take of memory and of the network at one time.
const fetchedAtOnce = 4

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
	stop    func()        // nil: it is not fetched. Under feeds.mutex
	refused error         // why its contents are not in force. Under feeds.mutex
}

// contents are the addresses of lists, by name. A list that was never had has none.
type contents map[string]*model.AddressSet

// of are the addresses of a list. There are none where nothing was ever fetched, as in a
// check of a file.
func (c contents) of(name string) *model.AddressSet {
	if set := c[name]; set != nil {
		return set
	}
	return &model.AddressSet{}
}

// prepareFeeds returns the feeds of a configuration: those that run already, where they are
// the same, and new ones with their last good copies from the disk. It changes nothing.
func (g *Gateway) prepareFeeds(c *config.Config) (next []*feed, err error) {
	s := &g.feeds
	if len(c.Lists) == 0 {
		return nil, nil
	}
	if s.store == nil {
		if s.store, err = lists.OpenStore(filepath.Join(stateDirectory, g.options.Instance+".lists")); err != nil {
			return nil, err
		}
		s.fetcher, s.slots = lists.NewFetcher("realmgate", lists.Limits{}), make(chan struct{}, fetchedAtOnce)
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

// contentsOf are what feeds have. A set that is as before is the same one, so that a
// new date in a list does not make all sessions be judged again.
func contentsOf(list []*feed, before contents) contents {
	now := contents{}
	for _, f := range list {
		l := f.List()
		if l == nil {
			continue
		}
		set := l.V4 // the data plane has IPv4 only
		if was := before[f.config.Name]; was != nil && slices.Equal(was.Ranges(), set.Ranges()) {
			set = was
		}
		now[f.config.Name] = set
	}
	return now
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
	s.mutex.Unlock()
	for _, f := range over {
		f.busy.Lock() // from now on its refreshes end at once
		f.busy.Unlock()
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
