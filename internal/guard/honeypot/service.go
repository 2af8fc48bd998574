package honeypot

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"sync"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/guard/honeypot/settings"
	"github.com/realmgate/realmgate/internal/model"
)

// mostWaiting is how many may wait for their ban. A source that finds no room is banned when it comes again.
const mostWaiting = 1 << 14

// Hit is a source that completed a handshake with the honeypot.
type Hit struct {
	Address netip.Addr
	Port    uint16 // TCP
}

// Options are what a Service needs.
type Options struct {
	// Events opens the stream of completed handshakes.
	Events func() (*datapath.Events[datapath.HoneypotEvent], error)
	// Rules are those of the configuration in force.
	Rules func() settings.Honeypot
	// Ban bans sources by these rules; its error is for the log.
	Ban func(settings.Honeypot, []Hit) error
	// Listening are the TCP ports at which programs of the gateway listen.
	Listening func() (map[uint16]bool, error)
	Log       *slog.Logger
}

// Service bans sources of hits. Call New.
type Service struct {
	Options
	kick    chan struct{}
	mutex   sync.Mutex           // guards what follows
	waiting map[netip.Prefix]Hit // by offender, with what it did last
}

// New makes a service without hits.
func New(o Options) *Service {
	return &Service{Options: o, waiting: map[netip.Prefix]Hit{}, kick: make(chan struct{}, 1)}
}

// Run bans sources of hits until ctx ends, those too that came before that.
func (s *Service) Run(ctx context.Context) error {
	events, err := s.Events()
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	running.Go(func() {
		defer close(s.kick) // after the last put
		events.Follow(func(err error) { s.Log.Error("honeypot event lost", "error", err) }, s.put)
	})
	running.Go(s.banAll)
	<-ctx.Done()
	_ = events.Close()
	running.Wait()
	return nil
}

// put takes one more.
func (s *Service) put(e datapath.HoneypotEvent) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.waiting) < mostWaiting {
		s.waiting[model.OffenderOf(e.Source)] = Hit{e.Source, e.Port}
	}
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// take returns all who wait.
func (s *Service) take() []Hit {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	all := slices.Collect(maps.Values(s.waiting))
	clear(s.waiting)
	return all
}

// banAll bans who waits until no more come, and then those who are left.
func (s *Service) banAll() {
	for range s.kick {
		s.ban()
	}
	s.ban()
}

// ban bans who waits, unless a reload took the honeypot away meanwhile: nothing says then for how long.
func (s *Service) ban() {
	all, rules := s.take(), s.Rules()
	if len(all) == 0 || rules.Ports.Empty() {
		return
	}
	if err := s.Ban(rules, all); err != nil {
		s.Log.Error("honeypot hits not banned", "addresses", len(all), "error", err)
	}
}

// Report says at which ports of the honeypot programs of the gateway listen: who wants something of them is banned.
func (s *Service) Report(status *api.Status) error {
	ports := s.Rules().Ports
	if ports.Empty() {
		return nil
	}
	listening, err := s.Listening()
	if err != nil {
		status.Warnings = append(status.Warnings, err.Error())
		return nil
	}
	for port := range 1 << 16 {
		if listening[uint16(port)] && ports.Has(model.TCP, uint16(port)) {
			status.Warnings = append(status.Warnings,
				fmt.Sprintf("a program of the gateway listens at tcp port %d, which is the honeypot's: what connects from outside is banned", port))
		}
	}
	return nil
}
