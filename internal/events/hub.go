package events

import (
	"context"
	"encoding/json"
	"log/slog"
	"reflect"
	"sync"
	"time"

	"github.com/realmgate/realmgate/internal/events/event"
)

// Drain is how long a sink that is closed has to take what waits for it.
const Drain = 2 * time.Second

// Listeners hear of every event, by its topic, as a line of a sink. They keep nobody waiting.
type Listeners interface {
	Tell(topic string, values ...any)
}

// Hub tells events to sinks. Without sinks, as in its zero value, it tells nobody.
type Hub struct {
	Instance  string
	Log       *slog.Logger
	Listeners Listeners // nil: there are none

	mutex    sync.Mutex // guards what follows
	sequence uint64
	sinks    []*sink
	ending   sync.WaitGroup // sinks that run, also those that are no more
	closed   bool
}

// Follow lets just these sinks run, in this order. Those that run already go on with what
// waits for them; the others get Drain to end, and nobody waits for that.
func (h *Hub) Follow(wanted []Options) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.closed {
		return
	}
	old := h.sinks
	h.sinks = make([]*sink, len(wanted))
	for i, o := range wanted {
		for j, s := range old {
			if s != nil && reflect.DeepEqual(s.Options, o) {
				h.sinks[i], old[j] = s, nil
			}
		}
	}
	for _, s := range old {
		if s != nil {
			close(s.closing)
		}
	}
	for i, o := range wanted {
		if h.sinks[i] == nil {
			h.sinks[i] = h.launch(newSink(o, h.Log), o.outlet())
		}
	}
}

// launch runs a sink until it is closed, and Drain longer.
func (h *Hub) launch(s *sink, out outlet) *sink {
	ctx, cancel := context.WithCancel(context.Background())
	h.ending.Go(func() {
		defer cancel()
		s.run(ctx, out)
	})
	go func() {
		<-s.closing
		select {
		case <-s.over:
		case <-time.After(Drain):
			cancel()
		}
	}()
	return s
}

// Emit tells the sinks that want to know. It never waits for one.
func (h *Hub) Emit(e event.Event) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.emit(e, false)
}

func (h *Hub) emit(e event.Event, last bool) {
	if h.closed {
		return
	}
	h.sequence++
	r := &record{time.Now(), h.Instance, h.sequence, e}
	for _, s := range h.sinks {
		if s.wants(e.Kind()) {
			s.put(r, last)
		}
	}
	if h.Listeners == nil {
		return
	}
	if line, err := r.line(0); err == nil { // else the sinks say so
		h.Listeners.Tell(topicOf(e), json.RawMessage(line))
	}
}

func topicOf(e event.Event) string {
	switch e.(type) {
	case event.Ban, event.Unban:
		return "bans"
	}
	return "events"
}

// Close tells a last event, and returns when all sinks have ended: after Drain and some
// time to kill commands at most.
func (h *Hub) Close(last event.Event) {
	h.mutex.Lock()
	h.emit(last, true)
	if !h.closed {
		for _, s := range h.sinks {
			close(s.closing)
		}
	}
	h.closed = true
	h.mutex.Unlock()
	ended := make(chan struct{})
	go func() { defer close(ended); h.ending.Wait() }()
	select {
	case <-ended:
	case <-time.After(Drain + 2*time.Second): // a disk that hangs lets nobody go
		h.Log.Warn("sinks not stopped")
	}
}

// Status is what a sink did since it runs, and how it is.
type Status struct {
	Options
	Delivered uint64 // events
	Lost      uint64
	Queued    int
	Failures  uint64 // times that something went wrong
	Error     string // what is wrong now
}

// Status returns that of each sink, in their order.
func (h *Hub) Status() []Status {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	list := make([]Status, 0, len(h.sinks))
	for _, s := range h.sinks {
		s.mutex.Lock()
		list = append(list, Status{s.Options, s.queue.delivered, s.queue.lost, len(s.queue.waiting), s.failures, s.fault})
		s.mutex.Unlock()
	}
	return list
}
