package systemd

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/realmgate/realmgate/internal/lifecycle"
)

const (
	readyEvery  = 50 * time.Millisecond // how often it is looked whether the gateway is ready
	statusEvery = 15 * time.Second      // the line is told anew, without a watchdog

	statusLength = 1000 // octets: of a datagram of more than 4096 systemd hears nothing
)

// Options are what a Service needs.
type Options struct {
	Environment
	// Ready is nil once the gateway serves.
	Ready func(context.Context) error
	// Health is a line about it. The watchdog hears nothing while it does not return.
	Health func() (string, error)
	// Again reports whether the gateway stops to be run again in this process, which speaks then.
	Again func() bool
	Log   *slog.Logger
}

// Service tells systemd. Call New.
type Service struct {
	Options
	failed atomic.Bool // and the log says so
}

// New makes one that has told nothing.
func New(o Options) *Service { return &Service{Options: o} }

// Prepare tells that a reload begins, where the configuration is read, and that it is over when it is in force or given up.
func (s *Service) Prepare(read bool) lifecycle.Change {
	if !read {
		return lifecycle.Change{}
	}
	s.say(reloading()...)
	over := func() { s.say("READY=1") }
	return lifecycle.Change{Settle: over, Discard: over}
}

// Run tells when the gateway is ready, how it fares from then on, and that it stops when ctx ends.
func (s *Service) Run(ctx context.Context) error {
	if s.Socket == "" {
		<-ctx.Done()
		return nil
	}
	defer func() {
		if s.Again() {
			s.say(reloading()...)
		} else {
			s.say("STOPPING=1")
		}
	}()
	if !s.awaitReady(ctx) {
		return nil
	}
	s.say("READY=1")
	every := statusEvery
	if s.Watchdog > 0 {
		every = min(every, s.Watchdog/3)
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		line, err := s.Health()
		if err != nil {
			line = err.Error()
		}
		s.say("WATCHDOG=1", "STATUS="+strings.ToValidUTF8(strings.ReplaceAll(line[:min(len(line), statusLength)], "\n", " "), ""))
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (s *Service) awaitReady(ctx context.Context) bool {
	tick := time.NewTicker(readyEvery)
	defer tick.Stop()
	for s.Ready(ctx) != nil {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
	return ctx.Err() == nil
}

func (s *Service) say(assignments ...string) {
	err := s.tell(assignments...)
	if before := s.failed.Swap(err != nil); err != nil && !before {
		s.Log.Warn("systemd not told", "error", err)
	}
}
