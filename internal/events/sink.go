package events

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/realmgate/realmgate/internal/events/event"
)

const (
	batch = 100 // events that an outlet gets at once, at most
	// batchBytes is how long these are together, unless one alone is longer: web servers
	// refuse requests beyond some size, for ever.
	batchBytes = 64 << 10
	// mostDigested is how long all that waits may be for a digest: a queue full of the longest lines.
	mostDigested = queueRoom * 8 << 10
	firstWait    = time.Second
	longWait     = time.Minute // at most, and how long all has to be well to begin with firstWait again
)

// outlet takes lines somewhere. Its methods are called by one goroutine.
type outlet interface {
	// deliver hands over lines, and returns how many of them are done with, beside an error
	// too. With no lines it sees to it that there is somewhere to take them. It ends soon
	// after ctx, and what it has to wait for otherwise is bounded or told to fault.
	deliver(ctx context.Context, lines [][]byte, fault func(error)) (int, error)
	// ended says when there is no longer somewhere to take lines: deliver is called then.
	ended() <-chan struct{}
	// close gives what was taken until ctx ends to arrive.
	close(ctx context.Context) error
}

// sink is a queue, and an outlet that empties it.
type sink struct {
	Options
	log     *slog.Logger
	after   func(time.Duration) <-chan time.Time
	ready   chan struct{} // has a token when something was put
	closing chan struct{} // closed when nothing will be put any more
	over    chan struct{} // closed when the outlet is

	mutex    sync.Mutex // guards what follows
	queue    queue
	failures uint64
	fault    string
}

func newSink(o Options, log *slog.Logger) *sink {
	return &sink{
		Options: o, log: log, after: time.After, ready: make(chan struct{}, 1), closing: make(chan struct{}), over: make(chan struct{}),
		queue: queue{room: queueRoom},
	}
}

// put never waits.
func (s *sink) put(r *record, last bool) {
	s.mutex.Lock()
	if last {
		s.queue.putLast(r)
	} else {
		s.queue.put(r)
	}
	s.mutex.Unlock()
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// run empties the queue until closing, and then what is left in it until ctx ends or the
// outlet fails.
func (s *sink) run(ctx context.Context, out outlet) {
	defer close(s.over)
	wait, failed, before := firstWait, time.Time{}, uint64(0)
	for ctx.Err() == nil {
		more, err := s.step(ctx, out)
		if _, _, pause := s.pace(); pause > 0 && s.delivered() > before { // also where not everybody has it
			before = s.delivered()
			s.pause(ctx, pause)
			continue
		}
		if err != nil && ctx.Err() == nil {
			if s.isClosing() {
				break // it had its last chance
			}
			if time.Since(failed) >= longWait {
				wait = firstWait
			}
			s.pause(ctx, waitOf(err, wait))
			wait, failed = min(2*wait, longWait), time.Now()
			continue
		}
		if more {
			continue
		}
		select {
		case <-ctx.Done():
		case <-s.ready:
		case <-out.ended():
		case <-s.closing:
			if s.waiting() == 0 {
				s.finish(ctx, out)
				return
			}
		}
	}
	s.finish(ctx, out)
}

// pause waits, unless the sink is to end.
func (s *sink) pause(ctx context.Context, wait time.Duration) {
	select {
	case <-ctx.Done():
	case <-s.closing:
	case <-s.after(wait):
	}
}

// step offers the outlet what waits, and reports whether more does.
func (s *sink) step(ctx context.Context, out outlet) (more bool, err error) {
	s.mutex.Lock()
	most, octets, pause := s.pace()
	entries := s.queue.first(most)
	s.mutex.Unlock()
	if pause > 0 && len(entries) == 0 { // what became of the last message stays told
		return false, nil
	}
	lines, size := make([][]byte, 0, len(entries)), 0
	for _, e := range entries {
		line, err := e.record.line(e.lost)
		if err != nil {
			return false, err
		}
		if size += len(line); size > octets && len(lines) > 0 {
			break
		}
		lines = append(lines, line)
	}
	n, err := out.deliver(ctx, lines, s.setFault)
	s.mutex.Lock()
	s.queue.done(n)
	var refused *refusedError
	if errors.As(err, &refused) {
		s.queue.lose(len(lines) - n)
	}
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
	s.fault = event.Text(err)
	if err != nil {
		s.failures++
	}
	s.mutex.Unlock()
	switch {
	case err != nil && before == "":
		s.log.Warn("sink delivery failed", "sink", s.Name, "error", err)
	case err == nil && before != "":
		s.log.Info("sink delivery resumed", "sink", s.Name)
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

func (s *sink) waiting() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return len(s.queue.waiting)
}

func (s *sink) delivered() uint64 {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.queue.delivered
}

// finish closes the outlet, and gives up what still waits.
func (s *sink) finish(ctx context.Context, out outlet) {
	err := out.close(ctx)
	s.mutex.Lock()
	left := len(s.queue.waiting)
	s.queue.abandon()
	s.mutex.Unlock()
	if left > 0 || err != nil {
		s.log.Warn("sink failed", "sink", s.Name, "undelivered", left, "error", err)
	}
}
