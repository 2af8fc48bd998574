package lists

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Feed is a list that somebody else publishes at a URL.
type Feed struct {
	name, source string
	rules        Rules
	fetcher      *Fetcher
	store        *Store

	refreshing sync.Mutex // one refresh at a time
	unsaved    *Copy      // in force and not on the disk, or nil. Under refreshing

	mu      sync.Mutex // guards what follows, never held over I/O
	state   *State
	sum     [sha256.Size]byte // of the text in force
	saveErr error             // why unsaved is, or nil
}

// NewFeed makes the feed of a URL that is fetched at once and then every interval.
// column is the one of a table that has the addresses, from 1, or 0 to find it. chance
// gives numbers in [0, 1).
func NewFeed(name, source string, column int, interval time.Duration, chance func() float64, fetcher *Fetcher, store *Store) (*Feed, error) {
	if err := errors.Join(checkName(name), CheckURL(source)); err != nil {
		return nil, err
	}
	if interval <= 0 {
		return nil, fmt.Errorf("list %s: want an interval above 0, not %v", name, interval)
	}
	return &Feed{
		name: name, source: source, fetcher: fetcher, store: store,
		rules: Rules{Downloaded: true, Column: column, Bytes: fetcher.limits.Bytes},
		state: NewState(interval, chance),
	}, nil
}

// Restore brings the last good copy from the disk into force, if there is one. An error
// is for the log: the feed does without, and fetches.
func (f *Feed) Restore(now time.Time) error {
	c, err := f.store.Load(f.name, f.source)
	if errors.Is(err, ErrNoCopy) {
		return nil
	}
	if err != nil {
		return err
	}
	l, err := Parse(bytes.NewReader(c.Text), f.rules)
	if err != nil {
		return fmt.Errorf("the copy of the list %s on the disk: %w", f.name, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state.Restore(l, c.Validators, c.Fetched, now)
	f.sum = sha256.Sum256(c.Text)
	return nil
}

// Refresh fetches the list and decides about it. changed: List returns another one than
// before, which is then to be brought into force. ErrUnsaved is of the disk only: what
// List returns is the newest copy. After any other error the copy before stays.
func (f *Feed) Refresh(ctx context.Context, clock func() time.Time) (changed bool, err error) {
	f.refreshing.Lock()
	defer f.refreshing.Unlock()
	f.mu.Lock()
	have := f.state.Validators()
	f.mu.Unlock()

	answer, err := f.fetcher.Fetch(ctx, f.source, have)
	if ctx.Err() != nil { // we are to stop: that is no fault of the server
		return false, ctx.Err()
	}
	if err == nil {
		changed, err = f.take(answer, clock())
	}
	if err != nil {
		f.fail(err, clock())
		return false, fmt.Errorf("list %s: %w", f.name, err)
	}
	return changed, f.save()
}

// take decides about an answer.
func (f *Feed) take(answer Answer, now time.Time) (changed bool, err error) {
	sum := sha256.Sum256(answer.Body)
	f.mu.Lock()
	if answer.Unchanged || f.state.List() != nil && sum == f.sum {
		f.state.Unchanged(answer.Validators, now)
		f.mu.Unlock()
		return false, nil
	}
	f.mu.Unlock()

	l, err := Parse(bytes.NewReader(answer.Body), f.rules)
	if err != nil {
		return false, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.state.Take(l, answer.Validators, now); err != nil {
		return false, err
	}
	f.sum = sum
	f.unsaved = &Copy{f.source, now, answer.Validators, answer.Body}
	return true, nil
}

// save brings the copy in force to the disk, if it is not there. What could not be written
// is kept for the next time: the server does not send it again.
func (f *Feed) save() error {
	if f.unsaved == nil {
		return nil
	}
	err := f.store.Save(f.name, *f.unsaved)
	if err == nil {
		f.unsaved = nil
	} else {
		err = fmt.Errorf("%w: %w", ErrUnsaved, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.saveErr = err
	return err
}

// fail notes an error, where Take has not.
func (f *Feed) fail(err error, now time.Time) {
	if errors.Is(err, ErrShrunk) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state.Fail(err, now)
}

// List returns what is in force, or nil.
func (f *Feed) List() *List {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state.List()
}

// Next returns when to refresh. The zero time is at once.
func (f *Feed) Next() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state.Next()
}

// Force lets the next copy in however short it is, and asks for it now.
func (f *Feed) Force(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state.Force(now)
}

// Status says how the feed is.
func (f *Feed) Status(now time.Time) Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.state.Status(now)
	s.Name, s.Source = f.name, f.source
	if f.saveErr != nil {
		s.Error = strings.TrimPrefix(s.Error+"; "+f.saveErr.Error(), "; ")
	}
	if u, err := url.Parse(f.source); err == nil {
		s.Source = u.Redacted()
	}
	return s
}
