package natlog

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lifecycle"
	"github.com/realmgate/realmgate/internal/metrics/metric"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/natlog/settings"
)

// Data is the data plane as far as the log needs it. *datapath.Datapath is one.
type Data interface {
	Watch(*datapath.Watch) error
	Unwatch(*datapath.Watch)
	StopWatches()
	FinishWatches() error
	Mappings(visit func(datapath.Mapping)) error
	FlowsUntold() (untold, known uint64, err error)
	KnowUntold(uint64)
	Adopted() bool // an earlier process had it
}

// Names say who has a private address, and what a session was asked for by; empty: nobody knows.
type Names interface {
	HostOf(addresses ...netip.Addr) string
	Name(number uint32) model.Name
}

// Options are what a Service needs.
type Options struct {
	Names func() Names
	Lent  func(visit func(model.Loan)) // the addresses of the pool that are
	Keeps func() bool                  // the data plane goes on when this process ends
	Log   *slog.Logger
}

// Service tells sinks what becomes of mappings and of the pool's addresses. Call New.
type Service struct {
	Options
	now  func() time.Time
	data Data // from Open on

	tracing chan struct{} // has one while a Trace looks into files

	mutex  sync.Mutex // guards what follows
	config settings.Log
	sinks  []*sink
	watch  *datapath.Watch // nil: nothing is logged
	clock  clock
	ending sync.WaitGroup   // sinks that run, also those that are no more
	has    map[string]*sink // by directory, who has its files, or had them last
	rate   refusals
}

// New makes one that logs nothing.
func New(o Options) *Service {
	return &Service{Options: o, now: time.Now, has: map[string]*sink{}, tracing: make(chan struct{}, 1)}
}

// Open begins the log of a start, before packets come.
func (s *Service) Open(data Data, c settings.Log) lifecycle.Change {
	s.data = data
	return lifecycle.Change{Commit: func() error { return s.follow(c) }}
}

// Prepare has the log follow another configuration.
func (s *Service) Prepare(read bool, c settings.Log) lifecycle.Change {
	if !read {
		return lifecycle.Change{}
	}
	return lifecycle.Change{Settle: func() {
		if err := s.follow(c); err != nil {
			s.Log.Error("log not changed", "error", err)
		}
	}}
}

// follow lets just these sinks run. Those that run already go on with what waits for them.
func (s *Service) follow(c settings.Log) error {
	s.mutex.Lock()
	before, watch := s.sinks, s.watch
	first := watch == nil
	s.sinks = make([]*sink, len(c.Sinks))
	for i, o := range c.Sinks {
		for j, old := range before {
			if old != nil && reflect.DeepEqual(old.Sink, o) {
				s.sinks[i], before[j] = old, nil
			}
		}
	}
	for _, old := range before {
		if old != nil {
			s.dismiss(old, c)
		}
	}
	for i, o := range c.Sinks {
		if s.sinks[i] == nil {
			s.sinks[i] = s.launch(newSink(o, s.Log))
			s.tell(s.sinks[i:i+1], Record{Kind: LogBegun, Adopted: !first || s.data.Adopted()})
		}
	}
	changed := first || s.config.Destinations != c.Destinations || len(c.Sinks) == 0
	s.config = c
	if !changed {
		s.mutex.Unlock()
		return nil
	}
	s.watch = nil
	if len(c.Sinks) > 0 {
		s.watch = s.newWatch(c.Destinations)
	}
	next := s.watch
	s.mutex.Unlock()
	return s.rewatch(watch, next)
}

// dismiss ends a sink that another configuration has no more. Where a successor has its directory, nothing is missed there.
func (s *Service) dismiss(old *sink, c settings.Log) {
	goesOn := old.Directory != "" && slices.ContainsFunc(c.Sinks, func(o settings.Sink) bool { return o.Directory == old.Directory })
	if !goesOn {
		s.tell([]*sink{old}, Record{Kind: LogEnded, Adopted: true, Reason: "configuration"})
	}
	close(old.closing)
}

// rewatch has the programs tell what is logged now: nothing, where nothing is.
func (s *Service) rewatch(before, next *datapath.Watch) error {
	if err := s.data.Watch(next); err != nil {
		return err
	}
	if before != nil {
		s.data.Unwatch(before)
	}
	return nil
}

func (s *Service) newWatch(destinations bool) *datapath.Watch {
	var heard []datapath.FlowEvent // of the goroutine that hears
	note := func(e datapath.FlowEvent) { heard = append(heard, e) }
	w := &datapath.Watch{
		Mapping: note,
		Drop:    s.refused,
		Heard: func() {
			s.Tell(s.records(heard)...)
			heard = heard[:0]
		},
		Failed: func(err error) { s.Log.Warn("flow event lost", "error", err) },
	}
	if destinations {
		w.Session = func(e datapath.FlowEvent) {
			if e.Told != datapath.SessionChanges && !e.External.Addr().IsUnspecified() { // by a pact no address of ours is used
				note(e)
			}
		}
	}
	return w
}

var told = map[datapath.Told]Kind{
	datapath.MappingBegins: MappingBegun, datapath.MappingEnds: MappingEnded,
	datapath.SessionBegins: SessionBegun, datapath.SessionEnds: SessionEnded,
}

func (s *Service) records(events []datapath.FlowEvent) []Record {
	if len(events) == 0 {
		return nil
	}
	now, instant, names := s.now(), datapath.Now(), s.Names()
	records := make([]Record, len(events))
	for i, e := range events {
		r := &records[i]
		*r = Record{
			Time: now.Add(-instant.Sub(e.At)), Kind: told[e.Told], Protocol: e.Protocol,
			External: e.External, Private: e.Private, Host: names.HostOf(e.Private.Addr()),
		}
		if r.Kind == SessionBegun || r.Kind == SessionEnded {
			r.Remote, r.Reason, r.Name = e.Remote, e.Origin, string(names.Name(e.Name))
		}
	}
	return records
}

// launch runs a sink until it is closed, and drain longer. It begins when nobody else has its files open any more.
func (s *Service) launch(k *sink) *sink {
	ctx, cancel := context.WithCancel(context.Background())
	out := s.outlet(k.Sink)
	var before *sink
	if k.Directory != "" {
		before, s.has[k.Directory] = s.has[k.Directory], k
	}
	s.ending.Go(func() {
		defer cancel()
		if before != nil {
			<-before.over
		}
		k.run(ctx, out)
	})
	go func() {
		<-k.closing
		select {
		case <-k.over:
		case <-time.After(drain):
			cancel()
		}
	}()
	return k
}

func (s *Service) outlet(o settings.Sink) outlet {
	switch {
	case o.Syslog != (settings.Collector{}):
		return newSyslog(o)
	case o.IPFIX != (settings.Collector{}):
		return newIPFIX(o, s.now)
	}
	return newFolder(o.Directory, o.Keep, s.now, s.Log, s.standing)
}

// standing visits what stands, for the beginning of a file.
func (s *Service) standing(visit func(Record)) error {
	var c clock
	at := s.now()
	say := func(r Record) {
		r.Time, r.Synchronised, r.Host = at, c.now(at), s.Names().HostOf(r.Private.Addr())
		visit(r)
	}
	s.Lent(func(l model.Loan) {
		r := loanRecord(l)
		r.Kind = AddressStands
		say(r)
	})
	return s.data.Mappings(func(m datapath.Mapping) {
		say(Record{Kind: MappingStands, Protocol: m.Protocol, External: m.External, Private: m.Private})
	})
}

// Tell tells the sinks. It waits for none.
func (s *Service) Tell(records ...Record) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.tell(s.sinks, records...)
}

func (s *Service) tell(sinks []*sink, records ...Record) {
	if len(sinks) == 0 || len(records) == 0 {
		return
	}
	now := s.now()
	synchronised := s.clock.now(now)
	for i := range records {
		if records[i].Time.IsZero() {
			records[i].Time = now
		}
		records[i].Synchronised = synchronised
	}
	for _, k := range sinks {
		if k != nil {
			k.put(records)
		}
	}
}

// On reports whether anything is logged.
func (s *Service) On() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return len(s.sinks) > 0
}

func (s *Service) destinations() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.config.Destinations
}

// Run says what the data plane had no room to tell, and what was refused, until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if !s.On() {
			continue
		}
		s.sayUntold()
		s.sayRefused(s.now())
	}
}

// sayUntold says once of each event that it was lost, over restarts, too.
func (s *Service) sayUntold() {
	untold, known, err := s.data.FlowsUntold()
	if err != nil {
		s.Log.Warn("lost flow events not counted", "error", err)
		return
	}
	if untold > known {
		s.Tell(Record{Kind: Lost, Count: untold - known, Reason: "ring full"})
		s.data.KnowUntold(untold)
	}
}

// Stop ends the log. Where the data plane goes on when this process ends, the next one hears of what it tells from now on;
// otherwise it is detached already, and tells no more.
func (s *Service) Stop() error {
	if s.On() {
		if s.Keeps() {
			s.data.StopWatches()
		} else {
			s.sayEnd()
		}
		s.sayUntold()
	}
	s.mutex.Lock()
	for _, k := range s.sinks {
		close(k.closing)
	}
	s.sinks = nil
	s.mutex.Unlock()
	ended := make(chan struct{})
	go func() { defer close(ended); s.ending.Wait() }()
	select {
	case <-ended:
	case <-time.After(drain + time.Second): // a disk that hangs lets nobody go
		s.Log.Warn("log sinks not stopped")
	}
	return nil
}

// sayEnd ends all that stands: the data plane does.
func (s *Service) sayEnd() {
	if err := s.data.FinishWatches(); err != nil {
		s.Log.Warn("last events not logged", "error", err)
	}
	err := s.standing(func(r Record) {
		r.Kind-- // from stands to has ended
		s.Tell(r)
	})
	if err != nil {
		s.Log.Warn("ends not logged", "error", err)
	}
	s.Tell(Record{Kind: LogEnded, Reason: "stop"})
}

// status is what a sink did since it runs, and how it is.
type status struct {
	name                    string
	delivered, lost, queued uint64
	fault                   string
}

func (s *Service) status() []status {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	list := make([]status, 0, len(s.sinks))
	for _, k := range s.sinks {
		k.mutex.Lock()
		list = append(list, status{k.Name, k.queue.delivered, k.queue.lost, uint64(len(k.queue.waiting)), k.fault})
		k.mutex.Unlock()
	}
	return list
}

// Report says which sinks take nothing, and which have lost something.
func (s *Service) Report(to *api.Status) error {
	for _, k := range s.status() {
		if k.fault != "" {
			to.Warnings = append(to.Warnings, fmt.Sprintf("the log waits for sink %s: %s", k.name, k.fault))
		}
		if k.lost > 0 {
			to.Warnings = append(to.Warnings, fmt.Sprintf("sink %s of the log has lost %d records: see docs/guide/log.md#lost", k.name, k.lost))
		}
	}
	return nil
}

// Measure says what became of the records of each sink.
func (s *Service) Measure(page metric.Page) error {
	for _, k := range s.status() {
		metric.PutIf(page, metric.LogUp, k.fault == "", k.name)
		page.Put(metric.LogDelivered, float64(k.delivered), k.name)
		page.Put(metric.LogLost, float64(k.lost), k.name)
		page.Put(metric.LogQueued, float64(k.queued), k.name)
	}
	return nil
}
