package reload

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/events/event"
)

// Options are what a Service needs.
type Options struct {
	File     string      // of the configuration
	Changing sync.Locker // held while another configuration comes into force
	InForce  func() (d *config.Document, generation uint32)
	// Immutable are the keys of a document that are not as they are in force, and only a restart changes.
	Immutable func(*config.Document) []string
	// Put puts a document that was read from the file into force, under Changing.
	Put func(*config.Document) error
	// Lost counts changes by command that a configuration does not have.
	Lost func(*config.Config) int
	// Sessions calls visit for each that stands, until it returns false.
	Sessions func(visit func(api.Session) bool) error
	Failed   func() // hears of each reload that came to nothing
	Events   interface{ Emit(event.Event) }
	Log      *slog.Logger
}

// Service is what the control socket asks about the configuration. Call New.
type Service struct{ options Options }

// New makes a service.
func New(o Options) *Service { return &Service{options: o} }

// Reload implements api.ConfigCommands: the file is read and checked whole before
// anything changes, and what was in force is put back if a step fails.
func (s *Service) Reload(expected api.Expected) (done api.Reload, err error) {
	s.options.Changing.Lock()
	defer s.options.Changing.Unlock()
	if _, now := s.options.InForce(); expected.Check(now) != nil {
		return api.Reload{}, expected.Check(now)
	}
	defer func() {
		s.options.Events.Emit(event.Reload{Generation: done.Generation, Error: event.Text(err)})
		if err != nil {
			s.options.Failed()
			s.options.Log.Error("reload failed", "error", err)
		}
	}()
	d, err := config.Read(s.options.File)
	if err != nil {
		return api.Reload{}, err
	}
	if err := s.immutable(d); err != nil {
		return api.Reload{}, err
	}
	dropped := s.options.Lost(d.Config)
	if err := s.options.Put(d); err != nil {
		return api.Reload{}, fmt.Errorf("%s: %w", s.options.File, err)
	}
	_, generation := s.options.InForce()
	hosts := len(d.Config.Hosts)
	s.options.Log.Info("reloaded", "generation", generation, "hosts", hosts, "dropped_changes", dropped)
	return api.Reload{Generation: generation, Hosts: hosts, Dropped: dropped}, nil
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
func (s *Service) Config() (api.Config, error) {
	d, generation := s.options.InForce()
	effective, err := d.Effective()
	if err != nil {
		return api.Config{}, fmt.Errorf("fill in the defaults: %w", err)
	}
	c := api.Config{Generation: generation, Effective: string(effective)}
	d.EachText(func(file, text string) { c.Files = append(c.Files, api.ConfigFile{File: file, Text: text}) })
	return c, nil
}
