package gateway

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/guard/ban"
	"github.com/realmgate/realmgate/internal/guard/watch"
)

// compiledWatch is a watch that can run, once.
type compiledWatch struct {
	config.Watch
	log *watch.Watch
}

func watchesOf(c *config.Config) ([]compiledWatch, error) {
	list := make([]compiledWatch, 0, len(c.Watches))
	for _, w := range c.Watches {
		compiled, err := watch.Compile(watch.Options{
			Name: w.Name, File: w.File, Command: w.Command, Patterns: w.Patterns, Hits: w.Hits, Within: w.Within,
		})
		if err != nil {
			return nil, fmt.Errorf("watches: %s: %w", w.Name, err)
		}
		list = append(list, compiledWatch{w, compiled})
	}
	return list, nil
}

// watches are the watches that run.
type watches struct {
	mutex   sync.Mutex                        // guards running and what is told of them; the rest changes under Gateway.reload
	launch  func(compiledWatch) *runningWatch // nil: the daemon does not serve
	running []*runningWatch
}

// runningWatch is a watch that runs until it is stopped.
type runningWatch struct {
	compiledWatch
	stop    context.CancelFunc
	ended   chan struct{}
	failing bool // as it was told last. Under watches.mutex
}

// launch runs a watch until ctx ends, or it is stopped.
func (g *Gateway) launch(ctx context.Context, w compiledWatch) *runningWatch {
	ctx, stop := context.WithCancel(ctx)
	r := &runningWatch{compiledWatch: w, stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(r.ended)
		g.runWatch(ctx, w)
	}()
	return r
}

// prepareWatches has the watches of a file follow.
func (g *Gateway) prepareWatches(d *draft) (change, error) {
	if !d.read {
		return change{}, nil
	}
	return change{Settle: func() { g.emitWatchesGone(g.watches.follow(d.watches)) }}, nil
}

// runWatches runs them until ctx ends.
func (g *Gateway) runWatches(ctx context.Context) {
	g.reload.Lock()
	g.watches.begin(func(w compiledWatch) *runningWatch { return g.launch(ctx, w) }, g.view.Load().watches)
	g.reload.Unlock()
	<-ctx.Done()
	g.reload.Lock()
	defer g.reload.Unlock()
	g.watches.end()
}

// reportWatches says which watches cannot read their logs.
func (g *Gateway) reportWatches(s *api.Status) error {
	s.Remedies = append(s.Remedies, g.watches.remedies()...)
	return nil
}

// begin runs the first watches.
func (s *watches) begin(launch func(compiledWatch) *runningWatch, wanted []compiledWatch) {
	s.launch = launch
	_ = s.follow(wanted) // nothing was told before
}

// end stops all of them, for good.
func (s *watches) end() {
	_ = s.follow(nil) // they are not taken away: the next daemon tells of them
	s.launch = nil
}

// follow runs just the watches that are wanted. One that runs already goes on with what it
// has counted. Those that are no more have stopped when it returns: they ban nobody later.
// A new one in the place of one that fails, by name, fails until it reads its log. The names
// that have failed and are no more are returned.
func (s *watches) follow(wanted []compiledWatch) (gone []string) {
	if s.launch == nil {
		return nil
	}
	old := map[string]*runningWatch{}
	for _, r := range s.running {
		old[r.Name] = r
	}
	next := make([]*runningWatch, len(wanted))
	for i, w := range wanted {
		if r := old[w.Name]; r != nil && reflect.DeepEqual(r.Watch, w.Watch) {
			next[i] = r
			delete(old, w.Name)
		}
	}
	for _, r := range old {
		r.stop()
	}
	for _, r := range old {
		<-r.ended
	}
	for i, w := range wanted {
		if next[i] == nil {
			next[i] = s.launch(w)
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.running = next
	for name, r := range old {
		if !r.failing {
			continue
		}
		if i := slices.IndexFunc(next, func(n *runningWatch) bool { return n.Name == name }); i >= 0 {
			next[i].failing = true
		} else {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	return gone
}

// runWatch bans who offends until ctx ends.
func (g *Gateway) runWatch(ctx context.Context, w compiledWatch) {
	w.log.Run(ctx, watch.SystemClock(), func(o watch.Offence) {
		if _, err := g.bans.Offend([]ban.Offence{{Address: o.Address, Reason: fmt.Sprintf("watch %s: %d hits", o.Watch, o.Count)}}, w.Ban); err != nil {
			g.log.Warn("an offender is not banned now", "watch", w.Name, "address", o.Address, "hits", o.Count, "error", err)
		}
	})
}

// remedies says which watches cannot read their logs.
func (s *watches) remedies() (list []string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, r := range s.running {
		if fault := r.log.Status().Error; fault != "" {
			list = append(list, fmt.Sprintf("watch %s bans nobody now: %s: see realmgate watches", r.Name, fault))
		}
	}
	return list
}

// Watches implements api.Gateway.
func (g *Gateway) Watches() ([]api.Watch, error) {
	g.watches.mutex.Lock()
	defer g.watches.mutex.Unlock()
	list := []api.Watch{}
	for _, r := range g.watches.running {
		s := r.log.Status()
		list = append(list, api.Watch{
			Name: r.Name, File: r.File, Command: r.Command, Lines: s.Lines, Skipped: s.Skipped, Hits: s.Hits, NoAddress: s.NoAddress,
			Offences: s.Offences, Forgotten: s.Forgotten, Ends: s.Ends, Error: s.Error, Stderr: s.Stderr,
		})
	}
	return list, nil
}
