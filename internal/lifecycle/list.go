package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// List is the services in their order: each may use what those before it are.
type List[D, S any] []Service[D, S]

// Immutable names the keys that a draft changes and only a restart can.
func (l List[D, S]) Immutable(draft D) (keys []string) {
	for _, s := range l {
		if s.Immutable != nil {
			keys = append(keys, s.Immutable(draft)...)
		}
	}
	return keys
}

// Start puts the first draft into force; with an error all services have stopped.
func (l List[D, S]) Start(draft D) error {
	changes, err := l.prepare(draft, Service[D, S].opens)
	if err == nil {
		err = put(changes)
	}
	if err != nil {
		return errors.Join(err, l.Stop())
	}
	return nil
}

// Apply puts a draft into force whole or, with an error, not at all.
func (l List[D, S]) Apply(draft D) error {
	changes, err := l.prepare(draft, Service[D, S].prepares)
	if err != nil {
		return err
	}
	if err := put(changes); err != nil {
		return fmt.Errorf("the change failed and was rolled back: %w", err)
	}
	return nil
}

// step is what a service does of a draft, nil for nothing.
type step[D any] = func(draft D) (Change, error)

func (s Service[D, S]) prepares() step[D] { return s.Prepare }

func (s Service[D, S]) opens() step[D] {
	if s.Open != nil {
		return s.Open
	}
	return s.Prepare
}

func (l List[D, S]) prepare(draft D, does func(Service[D, S]) step[D]) ([]Change, error) {
	changes := make([]Change, 0, len(l))
	for _, s := range l {
		do := does(s)
		if do == nil {
			continue
		}
		c, err := do(draft)
		if err != nil {
			discard(changes)
			return nil, err
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// put has all changes commit and settle, or gives them up.
func put(changes []Change) error {
	if err := commit(changes); err != nil {
		discard(changes)
		return err
	}
	for i := range changes {
		if c := changes[len(changes)-1-i]; c.Settle != nil {
			c.Settle()
		}
	}
	return nil
}

func commit(changes []Change) error {
	for i, c := range changes {
		if c.Commit == nil {
			continue
		}
		if err := c.Commit(); err != nil {
			return errors.Join(err, rollback(changes[:i]))
		}
	}
	return nil
}

func rollback(changes []Change) (err error) {
	for i := range changes {
		if c := changes[len(changes)-1-i]; c.Rollback != nil {
			err = errors.Join(err, c.Rollback())
		}
	}
	return err
}

func discard(changes []Change) {
	for i := range changes {
		if c := changes[len(changes)-1-i]; c.Discard != nil {
			c.Discard()
		}
	}
}

// Run runs all services until ctx ends or one fails, and returns when all have ended.
func (l List[D, S]) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	for _, s := range l {
		if s.Run == nil {
			continue
		}
		running.Go(func() {
			if err := s.Run(ctx); err != nil {
				cancel(fmt.Errorf("%s: %w", s.Name, err))
			}
		})
	}
	<-ctx.Done()
	running.Wait()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// Report has each service add to a status; the first error ends it.
func (l List[D, S]) Report(status S) error {
	for _, s := range l {
		if s.Report == nil {
			continue
		}
		if err := s.Report(status); err != nil {
			return err
		}
	}
	return nil
}

// Stop stops all services, the last first, whatever fails.
func (l List[D, S]) Stop() (err error) {
	for i := range l {
		if s := l[len(l)-1-i]; s.Stop != nil {
			err = errors.Join(err, s.Stop())
		}
	}
	return err
}
