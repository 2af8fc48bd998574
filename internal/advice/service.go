package advice

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lifecycle"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nameserver"
)

// Data has what is counted. *datapath.Datapath is one.
type Data interface {
	Counters() (map[model.Reason]uint64, error)
	Usage() (datapath.Usage, error)
	Subscribers() (map[netip.Addr]datapath.Subscriber, error)
	Remotes() (map[netip.Addr]int, error)
	Interfaces() []datapath.Interface
}

// Sampler lets one look at dropped packets. *capture.Drops is one.
type Sampler interface {
	Join() (chan api.Drop, error)
	Leave(chan api.Drop)
}

// Options are what a Service needs.
type Options struct {
	Drops  Sampler
	Config func() *config.Config // in force
	// Pool counts the questions without an address, and those refused by reputation.
	Pool func() (exhausted, distrusted uint64)
	// UpstreamFailed counts the questions that no upstream name server answered.
	UpstreamFailed func() uint64
	Log            *slog.Logger
}

// Service says what is wrong. Call New.
type Service struct {
	Options
	data       Data
	recent     recent
	overdone   askers // of the inside resolver, with too many questions at a time
	refused    askers // of the name server
	blackHoles blackHoles
}

// New makes a service that has seen nothing.
func New(o Options) *Service { return &Service{Options: o} }

// Open is the change that begins to remember what is counted by data. Nothing else is called before it.
func (s *Service) Open(data Data) lifecycle.Change {
	s.data = data
	return lifecycle.Change{Commit: s.note}
}

// Overdone hears who inside has asked for too many names at a time.
func (s *Service) Overdone(asker netip.Addr) { s.overdone.note(datapath.Now(), asker) }

// Watch makes an allocator one whose refusals are remembered.
func (s *Service) Watch(a nameserver.Allocator) nameserver.Allocator {
	return watchedAllocator{a, &s.refused}
}

// Run remembers what is counted, and looks for black holes, until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.runBlackHoles(ctx)
	}()
	remember := time.NewTicker(recentStep)
	defer remember.Stop()
	for {
		select {
		case <-ctx.Done():
			<-ended
			return nil
		case <-remember.C:
			if err := s.note(); err != nil {
				s.Log.Warn("counters not stored", "error", err)
			}
		}
	}
}

// Report says what to do about what was counted lately. The status has what the data plane counts by then.
func (s *Service) Report(status *api.Status) error {
	now := totals{
		reasons: make(map[model.Reason]uint64, len(status.Reasons)), knownFull: status.KnownFull, uncounted: status.SubscribersFull + status.RemotesFull,
	}
	for _, r := range status.Reasons {
		now.reasons[r.Reason] = r.Packets
	}
	now = s.recent.since(datapath.Now(), s.withNames(now))
	list := append(warnings(now, status.Sessions), s.takers(now, int(status.Sessions.Used))...) //nolint:gosec // at most 64 million
	list = append(list, s.questioners(datapath.Now())...)
	interfaces := s.data.Interfaces()
	list = append(list, s.blackHoles.warnings(time.Now(), func(side string) link { return narrowestOf(interfaces, side) }, s.Config().MSS)...)
	status.Warnings = append(status.Warnings, list...)
	return nil
}

// note remembers what has been counted so far.
func (s *Service) note() error {
	counters, err := s.data.Counters()
	if err != nil {
		return fmt.Errorf("read the counters: %w", err)
	}
	usage, err := s.data.Usage()
	if err != nil {
		return err
	}
	s.recent.note(datapath.Now(), s.withNames(totals{reasons: counters, knownFull: usage.KnownFull, uncounted: usage.SubscribersFull + usage.RemotesFull}))
	return nil
}

// withNames adds what the pool and the name servers count.
func (s *Service) withNames(t totals) totals {
	t.exhausted, t.distrusted = s.Pool()
	t.upstreamFailed = s.UpstreamFailed()
	return t
}
