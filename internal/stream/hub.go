package stream

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/realmgate/realmgate/internal/api"
)

const (
	mostListeners = 128
	keptListeners = 8   // besides, for who may do more than read
	atOnce        = 256 // messages that are handed over

	againAfter = 5 * time.Second // that a source failed
)

// Source tells of a topic until ctx ends. It runs while somebody listens.
type Source func(ctx context.Context, tell func(values ...any)) error

// Every tells at once what is to be told, and then each time.
func Every(each time.Duration, what func() (any, error)) Source {
	return func(ctx context.Context, tell func(...any)) error {
		tick := time.NewTicker(each)
		defer tick.Stop()
		for {
			value, err := what()
			if err != nil {
				return err
			}
			tell(value)
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-tick.C:
			}
		}
	}
}

// Options are what a Hub needs.
type Options struct {
	Epoch   string // of this process: numbers of another say nothing
	Sources map[string]Source
	Passing []string // topics whose sources tell what passes, and not how it is: what passes while nobody listens is not known
	Log     *slog.Logger
}

// Hub keeps what was told lately, for whoever listens. Call New.
type Hub struct {
	Options
	mutex     sync.Mutex // guards what follows
	number    uint64     // of the last message
	rings     map[string]*ring
	listeners api.Places
	news      chan struct{}      // closed when something is told
	running   map[string]*source // that somebody listens to
}

// source is one that runs.
type source struct {
	listeners int
	end       context.CancelFunc
}

// New makes one to which nobody listens.
func New(o Options) *Hub {
	return &Hub{Options: o, rings: map[string]*ring{}, listeners: api.Places{Most: mostListeners, Kept: keptListeners}, news: make(chan struct{}), running: map[string]*source{}}
}

// Tell tells values, each as JSON, to who listens to a topic. It waits for nobody.
func (h *Hub) Tell(topic string, values ...any) {
	for some := range slices.Chunk(values, atOnce) {
		h.add(topic, h.write(topic, some))
	}
}

// liner writes itself as encoding/json does, and faster.
type liner interface {
	AppendLine(b []byte) ([]byte, error)
}

// write returns the values as they are told. They share their memory.
func (h *Hub) write(topic string, values []any) [][]byte {
	var all []byte
	ends := make([]int, 0, len(values))
	for _, value := range values {
		longer, err := all, error(nil)
		if l, ok := value.(liner); ok {
			longer, err = l.AppendLine(all)
		} else {
			var data []byte
			data, err = json.Marshal(value)
			longer = append(all, data...)
		}
		if err != nil {
			h.Log.Error("message not written", "topic", topic, "error", err)
			continue
		}
		all = longer
		ends = append(ends, len(all))
	}
	lines, from := make([][]byte, len(ends)), 0
	for i, end := range ends {
		lines[i], from = all[from:end:end], end
	}
	return lines
}

func (h *Hub) add(topic string, lines [][]byte) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	r := h.ring(topic)
	for _, line := range lines {
		h.number++
		r.add(api.Message{Number: h.number, Topic: topic, Data: line})
	}
	close(h.news)
	h.news = make(chan struct{})
}

// ring is that of a topic. There are as many as topics.
func (h *Hub) ring(topic string) *ring {
	r := h.rings[topic]
	if r == nil {
		r = &ring{}
		h.rings[topic] = r
	}
	return r
}

// Listen implements api.StreamCommands.
func (h *Hub) Listen(c api.Caller, topics []string, last string) (api.Listener, error) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	l := &listener{hub: h, caller: c, topics: topics}
	if err := h.listeners.Enter(l.caller); err != nil {
		return nil, err
	}
	for _, topic := range topics {
		l.places = append(l.places, h.ring(topic).end())
		h.join(topic)
	}
	if last != "" {
		l.resume(last)
	}
	return l, nil
}

// join has the source of a topic run, if it has one.
func (h *Hub) join(topic string) {
	tells := h.Sources[topic]
	if tells == nil {
		return
	}
	s := h.running[topic]
	if s == nil {
		ctx, cancel := context.WithCancel(context.Background())
		s = &source{end: cancel}
		h.running[topic] = s
		go func() {
			for ctx.Err() == nil { // what fails once is tried again
				err := tells(ctx, func(values ...any) { h.Tell(topic, values...) })
				if ctx.Err() != nil {
					return
				}
				h.Log.Warn("stream source failed", "topic", topic, "error", err)
				select {
				case <-ctx.Done():
				case <-time.After(againAfter):
				}
			}
		}()
	}
	s.listeners++
}

func (h *Hub) leave(topic string) {
	s := h.running[topic]
	if s == nil {
		return
	}
	if s.listeners--; s.listeners == 0 {
		s.end()
		delete(h.running, topic)
		if slices.Contains(h.Passing, topic) {
			h.number++ // so that nobody has heard up to here
			h.ring(topic).gone = h.number
		}
	}
}

// Lately implements api.StreamCommands.
func (h *Hub) Lately(most int, topics ...string) (list []api.Message) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, topic := range topics {
		kept := h.ring(topic).messages
		list = append(list, kept[max(0, len(kept)-most):]...)
	}
	slices.SortFunc(list, func(x, y api.Message) int { return cmp.Compare(y.Number, x.Number) })
	return list[:min(most, len(list))]
}

// listener is one who listens.
type listener struct {
	hub    *Hub
	caller api.Caller
	topics []string
	places []uint64 // in the ring of each topic
	reset  bool     // what was told since the last one is not known
}

// resume goes on after a message, which is named as ID names it.
func (l *listener) resume(last string) {
	text, ours := strings.CutPrefix(last, l.hub.Epoch+"-")
	number, err := strconv.ParseUint(text, 10, 64)
	if !ours || err != nil || number > l.hub.number {
		l.reset = true
		return
	}
	for i, topic := range l.topics {
		place, whole := l.hub.ring(topic).behind(number)
		l.places[i], l.reset = place, l.reset || !whole
	}
}

// Next implements api.Listener.
func (l *listener) Next(ctx context.Context) (api.Told, error) {
	for {
		told, news := l.look()
		if told.Reset || told.Lost > 0 || len(told.Messages) > 0 {
			return told, nil
		}
		select {
		case <-ctx.Done():
			return told, ctx.Err()
		case <-news:
		}
	}
}

// look takes what there is by now, and when there is more.
func (l *listener) look() (told api.Told, news <-chan struct{}) {
	l.hub.mutex.Lock()
	defer l.hub.mutex.Unlock()
	for i, topic := range l.topics {
		if first := l.hub.rings[topic].first; l.places[i] < first {
			told.Lost += first - l.places[i]
			l.places[i] = first
		}
	}
	for len(told.Messages) < atOnce {
		var next *api.Message
		from := 0
		for i, topic := range l.topics {
			r := l.hub.rings[topic]
			if l.places[i] == r.end() {
				continue
			}
			if m := &r.messages[l.places[i]-r.first]; next == nil || m.Number < next.Number {
				next, from = m, i
			}
		}
		if next == nil {
			break
		}
		told.Messages = append(told.Messages, *next)
		l.places[from]++
	}
	told.Reset, l.reset = l.reset, false
	return told, l.hub.news
}

// ID implements api.Listener.
func (l *listener) ID(m api.Message) string {
	return l.hub.Epoch + "-" + strconv.FormatUint(m.Number, 10)
}

// Close implements api.Listener.
func (l *listener) Close() {
	l.hub.mutex.Lock()
	defer l.hub.mutex.Unlock()
	l.hub.listeners.Leave(l.caller)
	for _, topic := range l.topics {
		l.hub.leave(topic)
	}
}
