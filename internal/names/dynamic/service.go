package dynamic

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/events/event"
	"github.com/realmgate/realmgate/internal/lifecycle"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/names/dynamic/settings"
	"github.com/realmgate/realmgate/internal/registry"
)

// Realm has the names in force, beside which hosts come and go.
type Realm interface {
	// Named and Addressed say what a name or an address is, of the configuration or the gateway: nobody takes that by
	// registering. "" is nothing.
	Named(model.Name) string
	Addressed(netip.Addr) string
	// Expect makes room for so many hosts.
	Expect(hosts int)
	// Put adds a host of a zone, Remove takes it away, by its name, and returns it; nil where there is none.
	Put(zone model.Name, spec registry.HostSpec) (*registry.Host, error)
	Remove(zone, host model.Name) *registry.Host
}

// Plane lets sessions from outside reach hosts. *datapath.Datapath is one.
type Plane interface {
	OpenServices([]datapath.Service) error
	CloseServices([]datapath.Service) error
	EndSessions(match func(datapath.Session) bool) (int, error)
}

// Pool lends addresses to what hosts open.
type Pool interface {
	// Registered has it look again: gone are services that are not there any more, or are somebody else's.
	Registered(gone []model.Name)
}

// Events hears who came and went.
type Events interface{ Emit(event.Event) }

// Options are what a Service needs.
type Options struct {
	Plane func() Plane
	Pool  func() Pool // is asked when the start has succeeded
	// Reconsider has connections to web addresses begin anew that had been led to hosts which the realm has no more.
	Reconsider func()
	// Changed hears that hosts have come or gone. Nothing waits for it.
	Changed func()
	Events  Events
	Now     func() time.Time
	Log     *slog.Logger
}

// Configured is what a configuration says.
type Configured struct {
	File    string // of the configuration
	Realm   Realm
	Entries []settings.Entry
}

// Service has the hosts that register themselves. Call New.
type Service struct {
	Options
	counts  counts
	wanted  chan Configured // has room for the last
	signed  signed
	mutex   sync.Mutex // guards what follows
	table   *table
	store   Store
	fault   error // of the store
	sources map[string]*source
	running bool // the start has succeeded: from now on changes are told
	clock   clock
	others  []*Host // until then: those who are, or were, where an earlier process may have known somebody else
}

// New makes one without hosts.
func New(o Options) *Service {
	return &Service{Options: o, wanted: make(chan Configured, 1), table: newTable(), sources: map[string]*source{}}
}

// Open is the start: what is kept and what files say is there before anything else looks for it.
func (s *Service) Open(kept Store, c Configured) (lifecycle.Change, error) {
	now, files := s.begin(kept, c)
	for _, of := range files {
		s.look(of, true, now)
	}
	return lifecycle.Change{Settle: func() {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.running = true
		s.forget(s.others)
		s.others = nil
	}}, nil
}

// begin takes up what is kept, and says what is to be read.
func (s *Service) begin(kept Store, c Configured) (now time.Time, files []*source) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.store = kept
	s.configure(c)
	now = s.Now()
	s.clock.wentBack(now)
	restored, err := s.restore(now)
	if err != nil {
		s.Log.Warn("registered hosts not read", "error", err)
	}
	s.apply(&restored)
	return now, slices.Collect(maps.Values(s.sources))
}

// Prepare has the hosts follow a configuration, soon after it has come into force.
func (s *Service) Prepare(c Configured) lifecycle.Change {
	return lifecycle.Change{Settle: func() {
		for {
			select {
			case s.wanted <- c:
				return
			case <-s.wanted: // an older one that nobody has seen
			}
		}
	}}
}

// configure takes the entries of a configuration, and opens the sources that are new.
func (s *Service) configure(c Configured) {
	entries := s.table.entries
	changed := s.table.configure(c.Realm, c.Entries)
	s.apply(&changed)
	before := s.sources
	s.sources = map[string]*source{}
	for key, e := range s.table.entries {
		if e.Source == settings.Update {
			continue
		}
		of, path := before[key], filepath.Clean(e.Path(c.File))
		if of == nil || of.path != path {
			of = &source{key: key, kind: e.Source, path: path}
		}
		if old := entries[key]; old == nil || !reflect.DeepEqual(old.Entry, e.Entry) || len(of.refused)+len(changed.refused) > 0 {
			of.due = s.Now() // who was refused may be let in now
		}
		s.sources[key] = of
	}
}

// About says by what a host has registered itself, "" for one that has not, and when that ends.
func (s *Service) About(name model.Name) (source string, ends time.Time) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	h := s.table.named(name)
	if h == nil {
		return "", time.Time{}
	}
	return h.entry.Source.String(), h.Ends
}

// mostTold bounds the lines about hosts of an entry that are refused.
const mostTold = 8

// Report says how many hosts there are, what is wrong with files, and who is refused.
func (s *Service) Report(status *api.Status) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.table.entries) == 0 {
		return nil
	}
	g := &api.Gauge{}
	for _, e := range s.table.entries {
		g.Used += uint64(len(e.hosts))
		g.Capacity += uint64(e.Most()) //nolint:gosec // not negative
	}
	status.Registered = g
	for _, of := range s.sources {
		status.Warnings = append(status.Warnings, of.warnings()...)
	}
	return nil
}

func (of *source) warnings() (list []string) {
	if of.err != nil {
		list = append(list, fmt.Sprintf("dynamic: %v: its hosts stay as they were until it can be read", of.err))
	}
	if of.partly {
		list = append(list, fmt.Sprintf("dynamic: %s: it changes while it is read: what it says twice is taken, and who is missing stays until the lease ends", of.path))
	}
	if of.bad > 0 {
		list = append(list, fmt.Sprintf("dynamic: %s: %v (%d such lines): they are left out", of.path, of.wrong, of.bad))
	}
	for i, r := range of.refused {
		if i == mostTold {
			list = append(list, fmt.Sprintf("dynamic: %s: %d more hosts are not registered", of.path, len(of.refused)-mostTold))
			break
		}
		list = append(list, fmt.Sprintf("dynamic: %s: %s is not registered: %v", of.path, r.who, r.why))
	}
	return list
}

// sortRefusals has those of one reading be as those of the next.
func sortRefusals(list []refusal) {
	slices.SortFunc(list, func(x, y refusal) int { return cmp.Compare(x.who, y.who) })
}
