package natlog

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/realmgate/realmgate/internal/natlog/settings"
)

const (
	batch     = 4096 // records that an outlet gets at once, at most
	firstWait = time.Second
	longWait  = 30 * time.Second
	turnEvery = time.Second // that an outlet is asked without records: a minute may be over
	drain     = 2 * time.Second
)

// outlet takes records somewhere. Its methods are called by one goroutine.
type outlet interface {
	// deliver hands over records, and returns how many of them are done with, beside an error, too. Without records it does
	// what is due. It ends soon after ctx, and what it waits for otherwise is bounded.
	deliver(ctx context.Context, records []Record) (done int, err error)
	// close gives what was taken until ctx ends to arrive.
	close(ctx context.Context) error
}

// loser is an outlet that learns later that records have not arrived with which it was done.
type loser interface{ lost() int }

// sink is a queue, and an outlet that empties it.
type sink struct {
	settings.Sink
	log     *slog.Logger
	ready   chan struct{} // has a token when something was put
	closing chan struct{} // closed when nothing will be put any more
	over    chan struct{} // closed when the outlet is

	mutex sync.Mutex // guards what follows
	queue queue
	fault string
}

func newSink(s settings.Sink, log *slog.Logger) *sink {
	return &sink{Sink: s, log: log, ready: make(chan struct{}, 1), closing: make(chan struct{}), over: make(chan struct{}), queue: queue{room: queueRoom}}
}

// put never waits.
func (s *sink) put(records []Record) {
	s.mutex.Lock()
	for _, r := range records {
		s.queue.put(r)
	}
	s.mutex.Unlock()
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// run empties the queue until closing, and then what is left in it until ctx ends or the outlet fails.
func (s *sink) run(ctx context.Context, out outlet) {
	defer close(s.over)
	wait, turn := firstWait, time.NewTicker(turnEvery)
	defer turn.Stop()
	for ctx.Err() == nil {
		more, err := s.step(ctx, out)
		switch {
		case err != nil && s.isClosing():
			s.finish(ctx, out) // it had its last chance
			return
		case err != nil:
			select {
			case <-ctx.Done():
			case <-s.closing:
			case <-time.After(wait):
			}
			wait = min(2*wait, longWait)
			continue
		case more:
			continue
		}
		wait = firstWait
		select {
		case <-ctx.Done():
		case <-s.ready:
		case <-turn.C:
		case <-s.closing:
			if !s.waits() {
				s.finish(ctx, out)
				return
			}
		}
	}
	s.finish(ctx, out)
}

// step offers the outlet what waits, and reports whether more does.
func (s *sink) step(ctx context.Context, out outlet) (more bool, err error) {
	s.mutex.Lock()
	records := s.queue.first(batch)
	s.mutex.Unlock()
	n, err := out.deliver(ctx, records)
	lost := 0
	if l, ok := out.(loser); ok {
		lost = l.lost()
	}
	s.mutex.Lock()
	s.queue.done(n, lost)
	more = len(s.queue.waiting) > 0
	s.mutex.Unlock()
	if ctx.Err() == nil {
		s.setFault(err)
	}
	return more, err
}

// setFault tells the log when it begins and when it is over.
func (s *sink) setFault(err error) {
	s.mutex.Lock()
	before := s.fault
	s.fault = ""
	if err != nil {
		s.fault = err.Error()
	}
	s.mutex.Unlock()
	switch {
	case err != nil && before == "":
		s.log.Warn("log delivery failed", "sink", s.Name, "error", err)
	case err == nil && before != "":
		s.log.Info("log delivery resumed", "sink", s.Name)
	}
}

func (s *sink) isClosing() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}

func (s *sink) waits() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return len(s.queue.waiting) > 0
}

// finish closes the outlet, and gives up what still waits.
func (s *sink) finish(ctx context.Context, out outlet) {
	err := out.close(ctx)
	s.mutex.Lock()
	left := len(s.queue.waiting)
	s.queue.abandon()
	s.mutex.Unlock()
	if left > 0 || err != nil {
		s.log.Warn("log sink failed", "sink", s.Name, "undelivered", left, "error", err)
	}
}
