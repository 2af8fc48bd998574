package gateway

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/guard/lists"
)

// followList refreshes a list whenever it is due or asked for.
func (g *Gateway) followList(ctx context.Context, f *feed) {
	for {
		due := time.NewTimer(time.Until(f.Next()))
		select {
		case <-ctx.Done():
			due.Stop()
			return
		case <-due.C:
		case <-f.now:
			due.Stop()
		}
		select {
		case <-ctx.Done():
			return
		case g.feeds.slots <- struct{}{}:
		}
		g.refreshList(ctx, f)
		<-g.feeds.slots
	}
}

func (g *Gateway) refreshList(ctx context.Context, f *feed) {
	err := f.refresh(ctx)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		g.log.Warn(listTrouble(err), "list", f.config.Name, "error", err, "next", f.Next())
	}
	if err := g.takeLists(ctx); err != nil {
		g.log.Error("what lists have now is not in force", "error", err)
	}
	if err == nil && !f.inForce(g.view.Load().lists) {
		err = errNotInForce
	}
	g.emitList(ctx, f, err)
}

// listTrouble says what an error of a refresh means.
func listTrouble(err error) string {
	if errors.Is(err, lists.ErrUnsaved) {
		return "a list was refreshed, but its copy is not on the disk: a start would begin with what was there before"
	}
	return "a list could not be refreshed; its last good copy stays"
}

// takeLists puts what the lists have now into force, as a reload would; what has failed
// is tried again after the next refresh.
func (g *Gateway) takeLists(ctx context.Context) error {
	g.reload.Lock()
	defer g.reload.Unlock()
	if ctx.Err() != nil {
		return nil // a reload has ended the list, or we stop
	}
	old := g.view.Load()
	now, left := contentsOf(g.feeds.all, old.lists, mostListed)
	if maps.Equal(now, old.lists) {
		return left
	}
	next := old.next(old.document, old.outbound, now)
	if err := g.services.Apply(next); err != nil {
		return errors.Join(left, err)
	}
	var changed []string
	for name, set := range now {
		if set != old.lists[name] {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	g.log.Info("lists changed", "lists", changed, "generation", next.generation)
	return left
}

// loggedContents are what feeds have; what finds no room is for the log.
func (g *Gateway) loggedContents(list []*feed, before contents) contents {
	now, err := contentsOf(list, before, mostListed)
	if err != nil {
		g.log.Error("what lists have is not in force", "error", err)
	}
	return now
}

var errNotInForce = errors.New("this copy is not in force: the daemon's log says why")

// inForce reports whether the list's last good copy, if there is one, is.
func (f *feed) inForce(c contents) bool {
	l := f.List()
	return l == nil || l.Addresses.Equal(c.of(f.config.Name))
}

// Lists implements api.Gateway.
func (g *Gateway) Lists() ([]api.List, error) {
	g.feeds.mutex.Lock()
	defer g.feeds.mutex.Unlock()
	now, inForce, list := time.Now(), g.view.Load().lists, []api.List{}
	for _, f := range g.feeds.all {
		s := f.Status(now)
		shown := api.List{
			Name: s.Name, Source: s.Source, Entries: s.Entries, LeftOut: s.Faults,
			Fetched: s.Fetched, Checked: s.Checked, Failures: s.Failures, Error: s.Error, Next: s.Next,
		}
		if !f.inForce(inForce) {
			shown.Error = errNotInForce.Error()
		}
		list = append(list, shown)
	}
	return list, nil
}

// RefreshLists implements api.Gateway.
func (g *Gateway) RefreshLists(r api.ListRequest) (api.ListChange, error) {
	g.feeds.mutex.Lock()
	defer g.feeds.mutex.Unlock()
	var errs []error
	for _, name := range r.Lists {
		if !slices.ContainsFunc(g.feeds.all, func(f *feed) bool { return f.config.Name == name }) {
			errs = append(errs, fmt.Errorf("there is no list %s: realmgate lists shows those that there are", name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return api.ListChange{}, err
	}
	asked := 0
	for _, f := range g.feeds.all {
		if len(r.Lists) > 0 && !slices.Contains(r.Lists, f.config.Name) {
			continue
		}
		if r.Force {
			f.Force(time.Now())
		}
		select {
		case f.now <- struct{}{}:
		default: // it was asked for already
		}
		asked++
	}
	return api.ListChange{Lists: asked}, nil
}
