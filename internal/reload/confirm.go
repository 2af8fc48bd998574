package reload

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/events/event"
)

// tryAgain is how soon what could not be undone is tried again.
const tryAgain = 5 * time.Second

// waiting is a reload that is to be confirmed.
type waiting struct {
	record

	was        InForce   // comes back, with what commands had changed
	generation uint32    // that the reload put into force
	until      time.Time // on the clock that nobody sets
	failed     error     // why it could not be undone
}

// refuses is why there is no other reload meanwhile.
func (w *waiting) refuses() error {
	return api.WithRemedy(fmt.Errorf("a reload waits to be confirmed, for %.0f s", w.left()),
		"realmgate confirm keeps it, and realmgate reload --confirm tries another in its place")
}

func (w *waiting) left() float64 { return max(0, time.Until(w.until).Seconds()) }

// now is what waits, nil for nothing. Nobody changes what is returned.
func (s *Service) now() *waiting {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.waiting
}

// wait notes what waits now, and what to say in the status.
func (s *Service) wait(w *waiting, said string) {
	s.mutex.Lock()
	s.waiting, s.said = w, said
	s.mutex.Unlock()
	select {
	case s.changed <- struct{}{}:
	default: // Run will look anyway
	}
}

// putForNow puts a document into force until somebody confirms it. First it is on the disk what comes back, so that it
// does whatever happens to this process. Another try in the place of one that waits has the same come back.
func (s *Service) putForNow(d *config.Document, was InForce, r api.ReloadRequest) error {
	before := s.now()
	next := &waiting{was: was, record: record{Files: was.Filed.Files(), Back: s.history.number(was.Filed.Files())}}
	if before != nil {
		next.was, next.Files, next.Back = before.was, before.Files, before.Back
	}
	next.Since, next.By = time.Now(), r.By
	if err := next.write(s.options.State); err != nil {
		return err
	}
	if err := s.options.Put(d, d); err != nil {
		if before == nil {
			err = errors.Join(err, removeRecord(s.options.State))
		}
		return err
	}
	next.generation = s.options.InForce().Generation
	next.until = time.Now().Add(time.Duration(r.Confirm) * time.Second)
	s.wait(next, "")
	return nil
}

// settled follows when what is in force is what somebody wants, and what the file has.
func (s *Service) settled() {
	said := ""
	if err := removeRecord(s.options.State); err != nil {
		said = fmt.Sprintf("the next start puts back what was in force before: %v: remove %s", err, s.options.State)
		s.options.Log.Error("what comes back at the next start not forgotten", "error", err)
	}
	s.wait(nil, said)
}

var errNothingWaits = errors.New("no reload waits to be confirmed")

// Confirm implements api.ConfigCommands. One that comes in time counts, also where it has to wait for another change.
func (s *Service) Confirm(r api.Request) (api.Confirmed, error) {
	s.confirming.Add(1)
	defer s.confirming.Add(-1)
	s.options.Changing.Lock()
	defer s.options.Changing.Unlock()
	w := s.now()
	if w == nil {
		return api.Confirmed{}, api.WithRemedy(errNothingWaits, "see realmgate config history")
	}
	generation := s.options.InForce().Generation
	if err := r.Expected.Check(generation); err != nil {
		return api.Confirmed{}, err
	}
	if err := removeRecord(s.options.State); err != nil {
		return api.Confirmed{}, err
	}
	s.wait(nil, "")
	s.options.Events.Emit(event.Confirmed{Generation: generation})
	s.options.Log.Info("reload confirmed", "generation", generation, "caller", r.By)
	return api.Confirmed{Generation: generation}, nil
}

// undo puts back into force what was before the reload, and then into the file.
func (s *Service) undo() {
	s.options.Changing.Lock()
	defer s.options.Changing.Unlock()
	w := s.now()
	if w == nil || time.Now().Before(w.until) {
		return
	}
	again := *w
	again.until = time.Now().Add(tryAgain)
	if s.confirming.Load() > 0 {
		s.wait(&again, "")
		return
	}
	if again.failed = s.options.Put(w.was.Document, w.was.Filed); again.failed != nil {
		s.options.Events.Emit(event.RolledBack{To: w.Back, Unconfirmed: true, Error: event.Text(again.failed)})
		s.options.Log.Error("unconfirmed reload not undone", "error", again.failed, "again_after", tryAgain)
		s.wait(&again, "")
		return
	}
	s.undone(w.record)
}

// undone follows when what was before is in force: it goes to the file, too.
func (s *Service) undone(r record) {
	kept, err := s.writeBack(r)
	s.wait(nil, r.tell(s.options.File, kept, err))
	generation := s.options.InForce().Generation
	s.history.add(api.HistoryEntry{By: "gateway", How: api.HowUnconfirmed, To: r.Back, Generation: generation, Kept: kept}, r.Files)
	s.options.Events.Emit(event.RolledBack{Generation: generation, To: r.Back, Unconfirmed: true, Kept: kept, Error: event.Text(err)})
	withError(s.options.Log, err).Warn("unconfirmed reload undone", "generation", generation, "kept", kept)
}

// withError has lines say the error where there is one.
func withError(log *slog.Logger, err error) *slog.Logger {
	if err != nil {
		log = log.With("error", err)
	}
	return log
}

// writeBack has the file say what it said. Where that fails the record says so, and what the file has that does not count.
func (s *Service) writeBack(r record) (kept []string, err error) {
	restoration, err := config.Restore(r.Files, time.Now())
	if err != nil {
		return nil, s.leave(r, err)
	}
	return s.commit(restoration, r)
}

func (s *Service) commit(restoration *config.Restoration, r record) (kept []string, err error) {
	if kept, err = restoration.Commit(); err != nil {
		return kept, s.leave(r, err)
	}
	return kept, removeRecord(s.options.State)
}

// leave notes that the file could not be written for a cause. Where the disk takes no note either, Run tries that again.
func (s *Service) leave(r record, cause error) (err error) {
	if r.Undone, err = config.FilesAt(s.options.File); err == nil {
		if err = r.write(s.options.State); err != nil {
			s.left.Store(&r)
		}
	}
	return errors.Join(cause, err)
}

// leaveAgain writes that note, unless something else has become of the file.
func (s *Service) leaveAgain() {
	s.options.Changing.Lock()
	defer s.options.Changing.Unlock()
	left := s.left.Load()
	if left == nil {
		return
	}
	there, err := readRecord(s.options.State)
	if err == nil && there != nil && there.Undone == nil && there.Since.Equal(left.Since) {
		err = left.write(s.options.State)
	}
	if err == nil {
		s.left.Store(nil)
	}
}

// Report says what waits, and what was undone.
func (s *Service) Report(status *api.Status) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if w := s.waiting; w != nil {
		status.Unconfirmed = &api.Unconfirmed{Generation: w.generation, Since: w.Since, By: w.By, Seconds: w.left(), Back: w.Back}
		if w.failed != nil {
			status.Warnings = append(status.Warnings, fmt.Sprintf("a reload was not confirmed and cannot be undone: %v: it is tried again, or realmgate confirm keeps it", w.failed))
		}
	}
	if s.said != "" {
		status.Warnings = append(status.Warnings, s.said)
	}
	return nil
}

// Stop has the file say what it said before a reload that nobody has confirmed: the next daemon starts with that.
func (s *Service) Stop() error {
	w := s.now()
	if w == nil {
		return nil
	}
	kept, err := s.writeBack(w.record)
	s.options.Events.Emit(event.RolledBack{To: w.Back, Unconfirmed: true, Kept: kept, Error: event.Text(err)})
	withError(s.options.Log, err).Warn("unconfirmed reload undone for the next start", "kept", kept)
	return nil
}
