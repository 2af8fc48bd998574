package jail

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"
)

// Status is what a jail did since it runs, and how it is.
type Status struct {
	Lines     uint64 `json:"lines"`      // looked at
	Skipped   uint64 `json:"skipped"`    // lines longer than LongestLine, not looked at
	Failures  uint64 `json:"failures"`   // lines that a pattern describes, with an address
	NoAddress uint64 `json:"no_address"` // the same, but with something else in its place
	Offences  uint64 `json:"offences"`   // reported
	Forgotten uint64 `json:"forgotten"`  // offenders no longer counted, in favour of newer ones
	Ends      uint64 `json:"ends"`       // of the command
	Error     string `json:"error"`      // what is wrong now
	Reads     bool   `json:"reads"`      // the log is read. Without an error, too, it is not known at first
	Stderr    string `json:"stderr"`     // last line of the command's, in printable characters
}

// Jail is a log and what offends in it.
type Jail struct {
	options  Options
	matchers []*matcher

	lines, skipped, failures, noAddress, offences, forgotten, ends atomic.Uint64

	mutex         sync.Mutex
	fault, stderr string
	reads         atomic.Bool // changes with fault
}

// Compile makes a jail, or says what its options should be instead.
func Compile(o Options) (*Jail, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	w := &Jail{options: o}
	for _, pattern := range o.Patterns {
		expressions, err := expand(pattern)
		if err != nil {
			return nil, err
		}
		for _, e := range expressions {
			m, err := compile(e)
			if err != nil {
				return nil, fmt.Errorf("pattern %q: %w", pattern, err)
			}
			w.matchers = append(w.matchers, m)
		}
	}
	return w, nil
}

// Run follows the log until ctx ends, and calls report with each offence; nothing is read
// until it returns. It begins at the end of a file, and what an earlier run counted is not
// known.
func (w *Jail) Run(ctx context.Context, clock Clock, report func(Offence)) {
	c := newCounter(w.options.MaxRetry, w.options.FindTime, mostOffenders)
	each := func(line []byte) {
		w.lines.Add(1)
		a, matched := w.match(line)
		switch {
		case !matched:
			return
		case !a.IsValid():
			w.noAddress.Add(1)
			return
		}
		w.failures.Add(1)
		o, offends := c.failure(clock.Now(), a)
		w.forgotten.Store(c.forgotten)
		if offends {
			w.offences.Add(1)
			o.Jail = w.options.Name
			report(o)
		}
	}
	if w.options.File != "" {
		w.follow(ctx, clock, each)
		return
	}
	w.supervise(ctx, clock, each)
}

// match returns the address of a line that a pattern describes.
func (w *Jail) match(line []byte) (a netip.Addr, matched bool) {
	for _, m := range w.matchers {
		found, ok := m.find(line)
		if ok && found.IsValid() {
			return found, true
		}
		matched = matched || ok
	}
	return a, matched
}

func (w *Jail) follow(ctx context.Context, clock Clock, each func([]byte)) {
	f := newFollower(w.options.File, each, &w.skipped)
	defer f.close()
	for {
		err := f.poll(ctx)
		w.setFault(err)
		select {
		case <-ctx.Done():
			return
		case <-clock.After(pollEvery):
		}
	}
}

func (w *Jail) supervise(ctx context.Context, clock Clock, each func([]byte)) {
	s := &supervisor{argv: w.options.Command, clock: clock, lines: lines{skipped: &w.skipped}}
	s.each = func(line []byte) {
		if !w.reads.Load() {
			w.setFault(nil)
		}
		each(line)
	}
	s.steady = func() { w.setFault(nil) }
	s.ended = func(err error) {
		w.ends.Add(1)
		w.setFault(err)
	}
	s.stderr = func(line []byte) {
		text := printable(line)
		w.mutex.Lock()
		w.stderr = text
		w.mutex.Unlock()
	}
	s.run(ctx)
}

// setFault says what is wrong, or with nil that the log is read.
func (w *Jail) setFault(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	w.mutex.Lock()
	w.fault = text
	w.reads.Store(err == nil)
	w.mutex.Unlock()
}

// Status returns what was done and what is wrong.
func (w *Jail) Status() Status {
	w.mutex.Lock()
	fault, stderr, reads := w.fault, w.stderr, w.reads.Load()
	w.mutex.Unlock()
	return Status{
		Lines: w.lines.Load(), Skipped: w.skipped.Load(), Failures: w.failures.Load(), NoAddress: w.noAddress.Load(),
		Offences: w.offences.Load(), Forgotten: w.forgotten.Load(), Ends: w.ends.Load(), Error: fault, Reads: reads, Stderr: stderr,
	}
}

// printable makes a line fit for a terminal: at most 256 bytes of it.
func printable(line []byte) string {
	return strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return '?'
		}
		return c
	}, string(line[:min(len(line), 256)]))
}
