package reload

import (
	"errors"
	"fmt"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/events/event"
	"github.com/realmgate/realmgate/internal/lifecycle"
)

// Open knows the history, and settles what an earlier process has left, once the gateway has started with what Read says.
func (s *Service) Open(kept Store) (lifecycle.Change, error) {
	return lifecycle.Change{Settle: s.begin}, s.history.open(kept)
}

func (s *Service) begin() {
	r, err := readRecord(s.options.State)
	if err != nil {
		s.options.Log.Error("what comes back is not read", "error", err)
	}
	now := s.options.InForce()
	switch {
	case r.holds(s.options.File):
		s.undone(*r)
		return
	case r != nil && r.Files[0].Path == s.options.File:
		s.settled() // somebody has written the file since
	}
	s.history.add(api.HistoryEntry{By: "gateway", How: api.HowStart, Generation: now.Generation}, now.Filed.Files())
}

// Rollback implements api.ConfigCommands. The file is the truth: what cannot be written there does not come into force. It takes the
// place of a reload that waits to be confirmed.
func (s *Service) Rollback(r api.RollbackRequest) (api.RolledBack, error) {
	s.options.Changing.Lock()
	defer s.options.Changing.Unlock()
	if err := r.Expected.Check(s.options.InForce().Generation); err != nil {
		return api.RolledBack{}, err
	}
	d, err := s.past(r.Number)
	if err != nil {
		return api.RolledBack{}, err
	}
	restoration, err := config.Restore(d.Files(), time.Now())
	if err != nil {
		return api.RolledBack{}, api.WithRemedy(err, fmt.Sprintf("write it yourself, as realmgate config show --number %d has it, and reload", r.Number))
	}
	defer restoration.Discard()
	back := record{Files: d.Files(), Back: r.Number, Since: time.Now(), By: r.By}
	if err := s.putRecorded(d, back); err != nil {
		return api.RolledBack{}, err
	}
	done := api.RolledBack{Generation: s.options.InForce().Generation, Hosts: len(d.Config.Hosts)}
	said := ""
	if done.Kept, err = s.commit(restoration, back); err != nil {
		said = fmt.Sprintf("what is in force is not what %s says: %v: change the file and reload", s.options.File, err)
	}
	s.wait(nil, said)
	s.history.add(api.HistoryEntry{By: r.By, How: api.HowRollback, To: r.Number, Generation: done.Generation, Kept: done.Kept}, d.Files())
	s.options.Events.Emit(event.RolledBack{Generation: done.Generation, To: r.Number, Kept: done.Kept, Error: event.Text(err)})
	s.options.Log.Info("rolled back", "generation", done.Generation, "to", r.Number, "kept", done.Kept, "caller", r.By, "error", err)
	if err != nil {
		return done, fmt.Errorf("%d is in force, and not in the file: %w", r.Number, err)
	}
	return done, nil
}

// past is what an entry of the history says, checked as it would be today.
func (s *Service) past(number int) (*config.Document, error) {
	files, err := s.history.files(number)
	if err != nil {
		return nil, err
	}
	if files[0].Path != s.options.File {
		return nil, fmt.Errorf("%d of the history is of another file: %s", number, files[0].Path)
	}
	d, err := config.FromFiles(files)
	if err != nil {
		return nil, err
	}
	return d, s.immutable(d)
}

// putRecorded puts a document into force that goes to the file afterwards, by the next process if not by this one.
func (s *Service) putRecorded(d *config.Document, back record) error {
	if err := back.write(s.options.State); err != nil {
		return err
	}
	err := s.options.Put(d, d)
	if err == nil {
		return nil
	}
	if w := s.now(); w != nil {
		return errors.Join(err, w.write(s.options.State))
	}
	return errors.Join(err, removeRecord(s.options.State))
}

// Saved notes that the file has what commands had put into force. Under Changing.
func (s *Service) Saved(by string) {
	now := s.options.InForce()
	s.history.add(api.HistoryEntry{By: by, How: api.HowSave, Generation: now.Generation}, now.Filed.Files())
}
