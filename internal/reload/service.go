package reload

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/events/event"
)

// InForce is what packets are judged by.
type InForce struct {
	Document   *config.Document // with what commands changed
	Filed      *config.Document // as the file had it when it was read or written last
	Generation uint32
}

// Options are what a Service needs.
type Options struct {
	File     string      // of the configuration
	State    string      // file of what comes back unless a reload is confirmed
	Changing sync.Locker // held while another configuration comes into force
	InForce  func() InForce
	// Immutable are the keys of a document that are not as they are in force, and only a restart changes.
	Immutable func(*config.Document) []string
	// Put puts a document into force, under Changing. filed is what the file has of it, without what commands changed.
	Put func(d, filed *config.Document) error
	// Lost counts changes by command that a configuration does not have.
	Lost func(*config.Config) int
	// Sessions calls visit for each that stands, until it returns false.
	Sessions func(visit func(api.Session) bool) error
	Hangups  <-chan os.Signal // each reloads
	Failed   func()           // hears of each reload that came to nothing
	Events   interface{ Emit(event.Event) }
	Log      *slog.Logger
}

// Service is what the control socket asks about the configuration. Call New.
type Service struct {
	options    Options
	history    history
	confirming atomic.Int32           // requests that have come to confirm
	changed    chan struct{}          // what waits is another
	left       atomic.Pointer[record] // what the disk has not taken of a reload that was undone

	mutex   sync.Mutex // guards what follows, beside Changing
	waiting *waiting   // nil: no reload is to be confirmed
	said    string     // about one that was undone; empty after the next change
}

// New makes a service.
func New(o Options) *Service {
	return &Service{options: o, history: history{log: o.Log}, changed: make(chan struct{}, 1)}
}

// Run reloads at hangups, and undoes what nobody confirms, until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	for {
		var due, again <-chan time.Time
		if w := s.now(); w != nil {
			due = time.After(time.Until(w.until))
		}
		if s.left.Load() != nil {
			again = time.After(tryAgain)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.options.Hangups:
			_, _ = s.Reload(api.ReloadRequest{Request: api.Request{By: "SIGHUP"}}) // which logs what is wrong
		case <-s.changed:
		case <-due:
			s.undo()
		case <-again:
			s.leaveAgain()
		}
	}
}

// Reload implements api.ConfigCommands: the file is read and checked whole before
// anything changes, and what was in force is put back if a step fails.
func (s *Service) Reload(r api.ReloadRequest) (done api.Reload, err error) {
	s.options.Changing.Lock()
	defer s.options.Changing.Unlock()
	was := s.options.InForce()
	if err := r.Expected.Check(was.Generation); err != nil {
		return api.Reload{}, err
	}
	defer func() {
		s.options.Events.Emit(event.Reload{Generation: done.Generation, Confirm: done.Confirm, Error: event.Text(err)})
		if err != nil {
			s.options.Failed()
			s.options.Log.Error("reload failed", "error", err)
		}
	}()
	if w := s.now(); w != nil && r.Confirm == 0 {
		return api.Reload{}, w.refuses()
	}
	d, err := config.Read(s.options.File)
	if err != nil {
		return api.Reload{}, err
	}
	if err := s.immutable(d); err != nil {
		return api.Reload{}, err
	}
	dropped := s.options.Lost(d.Config)
	how := api.HowReload
	if r.Confirm > 0 {
		how = api.HowConfirm
		err = s.putForNow(d, was, r)
	} else if err = s.options.Put(d, d); err == nil {
		s.settled()
	}
	if err != nil {
		return api.Reload{}, fmt.Errorf("%s: %w", s.options.File, err)
	}
	generation := s.options.InForce().Generation
	s.history.add(api.HistoryEntry{By: r.By, How: how, Generation: generation}, d.Files())
	hosts := len(d.Config.Hosts)
	s.options.Log.Info("reloaded", "generation", generation, "hosts", hosts, "dropped_changes", dropped, "confirm_seconds", r.Confirm)
	return api.Reload{Generation: generation, Hosts: hosts, Confirm: r.Confirm, Dropped: dropped}, nil
}

// immutable returns an error for each change that only a restart can make.
func (s *Service) immutable(d *config.Document) error {
	var errs []error
	for _, key := range s.options.Immutable(d) {
		errs = append(errs, fmt.Errorf("%s: %s changed: restart the daemon to change it", s.options.File, key))
	}
	return errors.Join(errs...)
}

// Config implements api.ConfigCommands.
func (s *Service) Config(number int) (api.Config, error) {
	now := s.options.InForce()
	d := now.Document
	if number != 0 {
		files, err := s.history.files(number)
		if err != nil {
			return api.Config{}, err
		}
		if d, err = config.FromFiles(files); err != nil {
			return api.Config{}, err
		}
	}
	effective, err := d.Effective()
	if err != nil {
		return api.Config{}, fmt.Errorf("fill in the defaults: %w", err)
	}
	c := api.Config{Generation: now.Generation, Effective: string(effective)}
	for _, f := range d.Files() {
		c.Files = append(c.Files, api.ConfigFile{File: f.Path, Text: string(f.Text)})
	}
	return c, nil
}
