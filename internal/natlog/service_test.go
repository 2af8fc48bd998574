package natlog

import (
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/natlog/settings"
)

// plane is a data plane of which nothing stands.
type plane struct {
	mutex   sync.Mutex
	watched []*datapath.Watch
	adopted bool
}

func (p *plane) Watch(w *datapath.Watch) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if w != nil {
		p.watched = append(p.watched, w)
	}
	return nil
}

func (p *plane) Unwatch(*datapath.Watch)                        {}
func (p *plane) StopWatches()                                   { p.mutex.Lock(); p.watched = nil; p.mutex.Unlock() }
func (p *plane) FinishWatches() error                           { return nil }
func (p *plane) Mappings(func(datapath.Mapping)) error          { return nil }
func (p *plane) FlowsUntold() (untold, known uint64, err error) { return 0, 0, nil }
func (p *plane) KnowUntold(uint64)                              {}
func (p *plane) Adopted() bool                                  { return p.adopted }

type nobody struct{}

func (nobody) HostOf(...netip.Addr) string { return "" }
func (nobody) Name(uint32) model.Name      { return "" }

// newService is one that logs as a configuration says.
func newService(t *testing.T, p *plane, c settings.Log) *Service {
	t.Helper()
	s := New(Options{
		Names: func() Names { return nobody{} }, Lent: func(func(model.Loan)) {}, Keeps: func() bool { return true },
		Log: slog.New(slog.DiscardHandler),
	})
	if err := s.Open(p, c).Commit(); err != nil {
		t.Fatal(err)
	}
	return s
}

func directory(path string, days int) settings.Sink {
	return settings.Sink{Name: "disk", Directory: path, Keep: time.Duration(days) * 24 * time.Hour}
}

// A reload that changes how long files are kept loses no line of them, and is no gap.
func TestReloadKeepsTheFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	sinks := func(days int) settings.Log { return settings.Log{Sinks: []settings.Sink{directory(folder, days)}} }
	s := newService(t, &plane{}, sinks(3))
	const reloads, each = 20, 200
	for n := range reloads {
		for i := range each {
			s.Tell(mapping(MappingBegun, 1, uint16(n*each+i)))
		}
		s.Prepare(true, sinks(4+n)).Settle()
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, kind := range allKinds(t, folder) {
		counts[kind]++
	}
	if counts["mapping_begun"] != reloads*each || counts["log_ended"] != 0 {
		t.Errorf("the files have %v of %d mappings", counts, reloads*each)
	}
}

// A sink that goes while others stay is told: what it misses until it comes again is a gap.
func TestSinkThatGoesIsTold(t *testing.T) {
	t.Parallel()
	gone, stays := t.TempDir(), t.TempDir()
	both := settings.Log{Sinks: []settings.Sink{directory(stays, 2), directory(gone, 2)}}
	both.Sinks[0].Name = "other"
	s := newService(t, &plane{}, both)
	s.Prepare(true, settings.Log{Sinks: both.Sinks[:1]}).Settle()
	s.Prepare(true, both).Settle()
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]string{gone: "log_begun log_ended log_begun", stays: "log_begun"} {
		if got := strings.Join(allKinds(t, folder), " "); got != want {
			t.Errorf("the files have %q, want %q", got, want)
		}
	}
}

// Of a protocol without ports the log has no mappings: nobody is no answer, but an address that is lent whole has a host.
func TestTraceOfProtocolsWithoutPorts(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := newService(t, &plane{}, settings.Log{Sinks: []settings.Sink{directory(folder, 2)}})
	whole := mapping(AddressLent, 2, 0)
	whole.Protocol = model.AnyProtocol
	s.Tell(whole)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	const gre = 47
	now := time.Now()
	traced, err := s.Trace(t.Context(), api.TraceRequest{Address: outside, Protocol: gre, At: now})
	if err != nil || len(traced.Users) != 1 || traced.Users[0].Host != "host2.example" {
		t.Errorf("of an address that is lent whole: %+v, %v", traced, err)
	}
	if traced, err := s.Trace(t.Context(), api.TraceRequest{Address: outside.Next(), Protocol: gre, At: now}); err == nil {
		t.Errorf("of an outbound address: %+v", traced)
	}
	if traced, err := s.Trace(t.Context(), api.TraceRequest{Address: outside.Next(), Port: 1, Protocol: model.UDP, At: now}); err != nil || len(traced.Users) > 0 {
		t.Errorf("of a port that nobody had: %+v, %v", traced, err)
	}
}
