package flow

import (
	"container/heap"
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
)

const (
	behind = 4096 // flows one who observes may be behind, of 300 octets; more are lost for that one

	mostObservers = 64
	keptObservers = 8 // besides, for who may do more than read
)

// events are conntrack's words.
var events = map[datapath.Told]string{datapath.SessionBegins: "new", datapath.SessionChanges: "update", datapath.SessionEnds: "destroy"}

// Observe calls visit for the youngest of the flows that are open, and then, where that is wanted, for what becomes of all, until
// ctx ends or visit returns false, which may wait. It is called when nothing is missed any more, if with no flow.
func (s *Service) Observe(ctx context.Context, r api.ObserveRequest, visit func([]api.Flow) bool) error {
	o := newObserver(s, r)
	if r.Follow { // before it looks at what is open: nothing is missed between
		if err := s.observers.enter(r.By); err != nil {
			return err
		}
		defer s.observers.leave(r.By)
		watch := o.watch()
		if err := s.data.Watch(watch); err != nil {
			return err
		}
		defer s.data.Unwatch(watch)
	}
	open, err := s.youngest(r)
	if err != nil || !visit(open) || !r.Follow {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-o.ready:
			if !visit(o.take()) {
				return nil
			}
		}
	}
}

// observer is one who watches.
type observer struct {
	service *Service
	request api.ObserveRequest
	ready   chan struct{} // has a token when something waits

	mutex sync.Mutex // guards what follows
	flows []api.Flow // that wait
	lost  uint64     // since the last that found room
}

func newObserver(s *Service, r api.ObserveRequest) *observer {
	return &observer{service: s, request: r, ready: make(chan struct{}, 1)}
}

// take takes all that waits.
func (o *observer) take() []api.Flow {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	all := o.flows
	o.flows = nil
	return all
}

// watch hears what is wanted.
func (o *observer) watch() *datapath.Watch {
	w := &datapath.Watch{Heard: o.heard, Failed: func(err error) { o.service.Log.Warn("flow event lost", "error", err) }}
	if o.request.Verdict != "dropped" && o.request.Reason == "" {
		w.Session = func(e datapath.FlowEvent) {
			o.put(o.service.heard.of(e, func() api.Flow { return o.service.session(e) }))
		}
	}
	if o.request.Verdict != "forwarded" {
		w.Drop = func(e datapath.DropEvent) {
			o.put(o.service.dropped.of(dropKey{e.At, e.CPU, e.Reason, e.Tuple}, func() api.Flow { return o.service.drop(e) }))
		}
	}
	return w
}

// put never waits.
func (o *observer) put(f api.Flow) {
	if !o.request.Wants(&f) {
		return
	}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if len(o.flows) >= behind {
		o.lost++
		return
	}
	f.Lost, o.lost = o.lost, 0
	if o.flows = append(o.flows, f); len(o.flows) == behind/2 {
		o.wake()
	}
}

// heard wakes who observes once for all that came at once.
func (o *observer) heard() {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if len(o.flows) > 0 {
		o.wake()
	}
}

func (o *observer) wake() {
	select {
	case o.ready <- struct{}{}:
	default:
	}
}

func (s *Service) session(e datapath.FlowEvent) api.Flow {
	names := s.Names()
	f := api.Flow{
		Time: s.at(datapath.Now().Sub(e.At)), Event: events[e.Told], Verdict: "forwarded", Protocol: e.Protocol, State: e.State, Origin: e.Origin,
		Host: names.HostOf(e.Private.Addr()), Name: string(names.Name(e.Name)),
	}
	return s.between(f, e.Private, e.External, e.Remote)
}

// between says who began a flow, and by whom it went.
func (s *Service) between(f api.Flow, private, external, remote netip.AddrPort) api.Flow {
	f.Country = s.Country(remote.Addr())
	f.From, f.FromName, f.To, f.ToName = remote, s.Names().HostOf(remote.Addr()), private, f.Host
	if f.Origin == "inside" || f.Origin == "own" || f.Origin == "basic" || f.Origin == "edge_out" {
		f.From, f.FromName, f.To, f.ToName = f.To, f.ToName, f.From, f.FromName
	}
	if external != private && !external.Addr().IsUnspecified() { // by a pact there is none
		f.Via = external
	}
	return f
}

func (s *Service) drop(e datapath.DropEvent) api.Flow {
	names := s.Names()
	from, to := e.Tuple.Source, e.Tuple.Destination
	f := api.Flow{
		Time: s.at(datapath.Now().Sub(e.At)), Event: "drop", Verdict: "dropped", Reason: e.Reason, Protocol: e.Tuple.Protocol,
		From: from, FromName: names.HostOf(from.Addr()), To: to, ToName: names.HostOf(to.Addr()), Host: names.HostOf(from.Addr(), to.Addr()),
	}
	remote := from.Addr()
	if e.Side == "private" {
		remote = to.Addr()
	}
	f.Country = s.Country(remote)
	return f
}

func (s *Service) at(ago time.Duration) time.Time { return time.Now().Add(-ago).UTC() }

// young are flows, of which the oldest is the first to go.
type young []api.Flow

func (y young) Len() int           { return len(y) }
func (y young) Less(i, j int) bool { return y[i].Time.Before(y[j].Time) }
func (y young) Swap(i, j int)      { y[i], y[j] = y[j], y[i] }
func (y *young) Push(f any)        { *y = append(*y, f.(api.Flow)) }

// Pop implements heap.Interface.
func (y *young) Pop() any {
	last := (*y)[len(*y)-1]
	*y = (*y)[:len(*y)-1]
	return last
}

// youngest are the flows that are open and wanted, as many as that, in the order in which they began.
func (s *Service) youngest(r api.ObserveRequest) ([]api.Flow, error) {
	var kept young
	if r.Last == 0 {
		return nil, nil
	}
	names := s.Names()
	err := s.data.SessionsAfter(0, func(d datapath.Session) bool {
		if d.Tentative {
			return true
		}
		e := describe(d, names)
		f := s.between(api.Flow{
			Time: s.at(d.Age), Event: "open", Verdict: "forwarded", Protocol: e.Protocol, State: e.State, Origin: e.Origin, Host: e.Host, Name: e.Name,
		}, e.Private, e.External, e.Remote)
		if r.Wants(&f) {
			if heap.Push(&kept, f); len(kept) > r.Last {
				heap.Pop(&kept)
			}
		}
		return true
	})
	slices.SortFunc(kept, func(a, b api.Flow) int { return a.Time.Compare(b.Time) })
	return kept, err
}

// Tell tells of all sessions until ctx ends: the topic sessions of the stream.
func (s *Service) Tell(ctx context.Context, tell func(...any)) error {
	return s.Observe(ctx, api.ObserveRequest{Follow: true, Verdict: "forwarded", By: api.Caller{Role: api.Admin, Kind: "topic", Name: "sessions"}}, func(flows []api.Flow) bool {
		values := make([]any, len(flows))
		for i := range flows {
			values[i] = &flows[i]
		}
		tell(values...)
		return true
	})
}
