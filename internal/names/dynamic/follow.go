package dynamic

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/realmgate/realmgate/internal/names/dynamic/settings"
)

const (
	// calm is how long after a change a file is read: who rewrites it in place is done by then.
	calm = 100 * time.Millisecond
	// againAfter is when the next reading says whether hosts that were missing have gone.
	againAfter = 300 * time.Millisecond
	// lookEvery is how often files are looked at of which nobody tells, and leases are ended.
	lookEvery = time.Second
	// mostRefused bounds what is remembered of hosts that are not registered.
	mostRefused = 1024
	// mostMoving is how often a file is tried again that changes while it is read: at the start, and until that is told.
	mostMoving = 20
)

// source is the files of an entry.
type source struct {
	key    string
	kind   settings.Source
	path   string
	stamps []stamp   // when it was read
	due    time.Time // when it is to be read; the zero value: nothing is known to have changed

	moving  int      // readings in a row during which it changed
	said    contents // the last of these
	partly  bool     // what two of them say the same is taken
	err     error
	bad     int
	wrong   error
	refused []refusal
}

// unread reports that its files have changed, as far as is known, and what they say now is not.
func (of *source) unread() bool { return of != nil && (of.err != nil || of.moving > 0 && !of.partly) }

// Run follows files, and ends leases, until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	w := newWatch()
	defer w.close()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	events, errs := w.events()
	for {
		w.follow(s.folders())
		due := time.NewTimer(s.wait())
		select {
		case <-ctx.Done():
			due.Stop()
			return nil
		case c := <-s.wanted:
			s.mutex.Lock()
			s.configure(c)
			s.mutex.Unlock()
		case e := <-events:
			s.touch(e.Name)
		case err := <-errs:
			s.Log.Debug("file event lost", "error", err)
		case <-tick.C:
			s.expire()
			s.lookAtAll()
		case <-due.C:
		}
		due.Stop()
		s.readDue()
	}
}

// folders are those that have files of sources.
func (s *Service) folders() (list []string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, of := range s.sources {
		list = append(list, filepath.Dir(of.path))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// wait is how long nothing is due.
func (s *Service) wait() time.Duration {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	wait := time.Hour
	for _, of := range s.sources {
		if !of.due.IsZero() {
			wait = min(wait, max(0, of.due.Sub(s.Now())))
		}
	}
	return wait
}

// touch has a source read that has a file.
func (s *Service) touch(path string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, of := range s.sources {
		if strings.HasPrefix(path, of.path) && of.due.IsZero() {
			of.due = s.Now().Add(calm)
		}
	}
}

// lookAtAll has those read that have changed, and all where the clock has gone back: leases that were over are not.
func (s *Service) lookAtAll() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	back := s.clock.wentBack(s.Now())
	for _, of := range s.sources {
		if back {
			of.due = s.Now()
		}
		if stamps, err := stampOf(filesOf(of.kind, of.path)); of.due.IsZero() && (err != nil || !slices.Equal(stamps, of.stamps)) {
			of.due = s.Now()
		}
	}
}

// clock is that of the day.
type clock struct{ seen time.Time }

// wentBack reports that it is behind where it was at the last look.
func (c *clock) wentBack(now time.Time) bool {
	now = now.Round(0)
	back := now.Before(c.seen)
	c.seen = now
	return back
}

func (s *Service) expire() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	c := s.table.expire(s.Now(), func(e *entry) bool { return s.sources[e.key].unread() })
	s.apply(&c)
}

// readDue reads what is due.
func (s *Service) readDue() {
	s.mutex.Lock()
	now, due := s.Now(), []*source(nil)
	for _, of := range s.sources {
		if !of.due.IsZero() && !now.Before(of.due) {
			due = append(due, of)
		}
	}
	s.mutex.Unlock()
	for _, of := range due {
		s.look(of, false, now)
	}
}

// look reads a source, and registers what it says. patient: it is tried again at once while it changes. Nobody waits meanwhile. Open
// and Run call it, one at a time.
func (s *Service) look(of *source, patient bool, now time.Time) {
	s.mutex.Lock()
	of.due = time.Time{} // what changes from now on is read later
	s.mutex.Unlock()
	c, stamps, err := readFiles(of.kind, of.path)
	for i := 0; patient && errors.Is(err, errMoving) && i < mostMoving; i++ {
		time.Sleep(calm / 10)
		c, stamps, err = readFiles(of.kind, of.path)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.took(of, c, stamps, err, now)
}

// took takes what has come of reading a source.
func (s *Service) took(of *source, c contents, stamps []stamp, err error, now time.Time) {
	of.stamps = stamps
	if errors.Is(err, errMoving) {
		if c, err = of.moves(c, now); err == nil && !of.partly {
			return
		}
	} else {
		of.moving, of.said, of.partly = 0, contents{}, false
	}
	if err != nil {
		if of.err == nil || of.err.Error() != err.Error() {
			s.Log.Warn("hosts not read", "file", of.path, "error", err)
		}
		of.err = err
		return
	}
	if of.err != nil {
		s.Log.Info("hosts read again", "file", of.path)
	}
	of.err, of.bad, of.wrong = nil, c.bad, c.wrong
	e := s.table.entries[of.key]
	changed := s.table.read(e, c, now)
	s.apply(&changed)
	if changed.again {
		of.due = now.Add(againAfter)
	}
	s.refuse(of, changed.refused)
	if n := len(changed.come) + len(changed.gone); n > 0 {
		s.Log.Info("hosts registered", "file", of.path, "hosts", len(e.hosts), "come", len(changed.come), "gone", len(changed.gone))
	}
}

// moves takes a reading during which the files changed. At first nothing comes of it. From mostMoving in a row on, contents are what
// it says the same as the one before, or an error says that there is nothing like that.
func (of *source) moves(c contents, now time.Time) (contents, error) {
	same := both(of.said, c)
	of.said, of.partly = c, false
	of.due = now.Add(calm)
	if of.moving++; of.moving < mostMoving {
		return contents{}, nil
	}
	of.due = now.Add(lookEvery)
	if same.at == nil {
		return contents{}, fmt.Errorf("%s: %w", of.path, errMoving)
	}
	of.partly = true
	return same, nil
}

// refuse remembers who is refused, and tells the log of those who were not before.
func (s *Service) refuse(of *source, refused []refusal) {
	sortRefusals(refused)
	refused = refused[:min(len(refused), mostRefused)]
	told := 0
	for _, r := range refused {
		if told < mostTold && !slices.ContainsFunc(of.refused, func(old refusal) bool { return old.who == r.who }) {
			s.Log.Warn("host not registered", "file", of.path, "host", r.who, "error", r.why)
			told++
		}
	}
	of.refused = refused
}

// watch hears of changes in folders. Without inotify it hears nothing, and files are looked at even so.
type watch struct {
	*fsnotify.Watcher // nil: there is none
	folders           []string
}

func newWatch() *watch {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return &watch{}
	}
	return &watch{Watcher: w}
}

// events are those of the folders; of nothing without inotify.
func (w *watch) events() (<-chan fsnotify.Event, <-chan error) {
	if w.Watcher == nil {
		return nil, nil
	}
	return w.Events, w.Errors
}

// follow hears of other folders. One that is not there is tried again.
func (w *watch) follow(folders []string) {
	if w.Watcher == nil {
		return
	}
	for _, folder := range w.folders {
		if !slices.Contains(folders, folder) {
			_ = w.Remove(folder) // it may have gone
		}
	}
	heard := w.folders[:0:0]
	for _, folder := range folders {
		if slices.Contains(w.WatchList(), folder) || w.Add(folder) == nil {
			heard = append(heard, folder)
		}
	}
	w.folders = heard
}

func (w *watch) close() {
	if w.Watcher != nil {
		_ = w.Close() // nothing is kept back
	}
}
