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

	moving  int // readings in a row during which it changed
	err     error
	bad     int
	wrong   error
	refused []refusal
}

// unread reports that its files have changed, as far as is known, and what they say now is not.
func (of *source) unread() bool { return of != nil && (of.err != nil || of.moving > 0) }

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

// lookAtAll has those read that have changed.
func (s *Service) lookAtAll() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, of := range s.sources {
		if stamps, err := stampOf(filesOf(of.kind, of.path)); of.due.IsZero() && (err != nil || !slices.Equal(stamps, of.stamps)) {
			of.due = s.Now()
		}
	}
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
	defer s.mutex.Unlock()
	now := s.Now()
	for _, of := range s.sources {
		if !of.due.IsZero() && !now.Before(of.due) {
			s.look(of, false, now)
		}
	}
}

// look reads a source, and registers what it says. patient: it is tried again at once while it changes.
func (s *Service) look(of *source, patient bool, now time.Time) {
	of.due = time.Time{}
	c, stamps, err := readFiles(of.kind, of.path)
	for i := 0; patient && errors.Is(err, errMoving) && i < mostMoving; i++ {
		time.Sleep(calm / 10)
		c, stamps, err = readFiles(of.kind, of.path)
	}
	s.took(of, c, stamps, err, now)
}

// took takes what has come of reading a source.
func (s *Service) took(of *source, c contents, stamps []stamp, err error, now time.Time) {
	of.stamps = stamps
	if !errors.Is(err, errMoving) {
		of.moving = 0
	} else {
		of.due = now.Add(calm)
		if of.moving++; of.moving < mostMoving {
			return
		}
		err = fmt.Errorf("%s: %w", of.path, err)
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
