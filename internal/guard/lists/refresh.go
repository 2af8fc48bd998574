package lists

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/events/event"
)

// follow refreshes a list whenever it is due or asked for.
func (s *Service) follow(ctx context.Context, f *fetched) {
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
		case s.slots <- struct{}{}:
		}
		s.refresh(ctx, f)
		<-s.slots
	}
}

func (s *Service) refresh(ctx context.Context, f *fetched) {
	err := f.refresh(ctx)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		s.Log.Warn("list refresh failed", "list", f.config.Name, "error", err, "in_force", left(err), "next", f.Next())
	}
	if err := s.Take(ctx); err != nil {
		s.Log.Error("lists not in force", "error", err)
	}
	if err == nil && !f.inForce(s.InForce()) {
		err = errNotInForce
	}
	s.tell(ctx, f, err)
}

// left says which copy an error of a refresh leaves in force.
func left(err error) string {
	if errors.Is(err, ErrUnsaved) {
		return "the new copy, until a restart"
	}
	return "the last good copy"
}

// tell tells when a list begins to fail and when that is over, unless a reload has
// stopped the list by ctx: then it is told by the list that took its place.
func (s *Service) tell(ctx context.Context, f *fetched, err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if ctx.Err() != nil {
		return
	}
	failing := err != nil
	switch {
	case failing && !f.failing:
		s.Events.Emit(event.ListFailed{List: f.config.Name, Error: event.Text(err)})
	case !failing && f.failing:
		s.Events.Emit(event.ListRecovered{List: f.config.Name})
	}
	f.failing = failing
}

var errNotInForce = errors.New("this copy is not in force: the daemon's log says why")

// inForce reports whether the list's last good copy, if there is one, is.
func (f *fetched) inForce(c Contents) bool {
	l := f.List()
	return l == nil || l.Addresses.Equal(c.Of(f.config.Name))
}

// Lists implements api.ListCommands.
func (s *Service) Lists() ([]api.List, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	now, inForce, list := time.Now(), s.InForce(), []api.List{}
	for _, f := range s.all {
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

// Report says which lists were not had twice in a row: the next attempt may mend one failure.
func (s *Service) Report(status *api.Status) error {
	all, err := s.Lists()
	for _, l := range all {
		if l.Failures >= 2 {
			status.Warnings = append(status.Warnings, fmt.Sprintf("list %s is not fetched, and its last good copy stays: %s: see realmgate lists", l.Name, l.Error))
		}
	}
	return err
}

// RefreshLists implements api.ListCommands.
func (s *Service) RefreshLists(r api.ListRequest) (api.ListChange, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var errs []error
	for _, name := range r.Lists {
		if !slices.ContainsFunc(s.all, func(f *fetched) bool { return f.config.Name == name }) {
			errs = append(errs, fmt.Errorf("there is no list %s: realmgate lists shows those that there are", name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return api.ListChange{}, err
	}
	asked := 0
	for _, f := range s.all {
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
