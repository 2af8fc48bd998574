package reload

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/config"
)

const (
	bucket      = "configurations" // of the store's file
	mostEntries = 20
)

// Store keeps what outlives a restart. *store.Store is one.
type Store interface {
	Change(bucket string, put map[string][]byte, remove []string) error
	Each(bucket string, visit func(key string, value []byte) error) error
}

// history is the configurations that came into force lately. Their texts are in the store alone.
type history struct {
	log     *slog.Logger
	mutex   sync.Mutex // guards what follows
	store   Store      // nil before open
	entries []entry    // the latest last
}

// entry is one as the store has it, without its files.
type entry struct {
	api.HistoryEntry

	Hash []byte `json:"hash"` // SHA-256 of its files
}

// stored is one with its files.
type stored struct {
	entry

	Files []byte `json:"files"` // JSON, by gzip
}

func keyOf(number int) string { return fmt.Sprintf("%010d", number) }

// open reads what is kept. What cannot be read is left out.
func (h *history) open(kept Store) error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.store, h.entries = kept, nil
	return kept.Each(bucket, func(key string, value []byte) error {
		var e entry
		if err := json.Unmarshal(value, &e); err != nil || keyOf(e.Number) != key {
			h.log.Warn("configuration of the history not read", "key", key, "error", err)
			return nil
		}
		h.entries = append(h.entries, e)
		return nil
	})
}

// add notes what has come into force, unless the latest says the same. What the disk refuses is missing in the history.
func (h *history) add(e api.HistoryEntry, files []config.File) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if err := h.tryAdd(e, files); err != nil {
		h.log.Error("configuration not in the history", "error", err)
	}
}

func (h *history) tryAdd(e api.HistoryEntry, files []config.File) error {
	text, err := json.Marshal(files)
	if err != nil {
		return err
	}
	hash := sha256.Sum256(text)
	last := len(h.entries) - 1
	e.Number, e.Since = 1, time.Now().UTC().Truncate(time.Second)
	if last >= 0 {
		if bytes.Equal(h.entries[last].Hash, hash[:]) {
			return nil
		}
		e.Number = h.entries[last].Number + 1
	}
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed) // a level that there is
	_, err = w.Write(text)
	if err = errors.Join(err, w.Close()); err != nil {
		return err
	}
	made := stored{entry{e, hash[:]}, packed.Bytes()}
	value, err := json.Marshal(made)
	if err != nil {
		return err
	}
	var remove []string
	for _, old := range h.entries[:max(0, len(h.entries)+1-mostEntries)] {
		remove = append(remove, keyOf(old.Number))
	}
	if err := h.store.Change(bucket, map[string][]byte{keyOf(e.Number): value}, remove); err != nil {
		return err
	}
	h.entries = append(h.entries[len(remove):], made.entry)
	return nil
}

// number is that of the latest entry with these files, 0 for none.
func (h *history) number(files []config.File) int {
	text, err := json.Marshal(files)
	if err != nil {
		return 0
	}
	hash := sha256.Sum256(text)
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, e := range slices.Backward(h.entries) {
		if bytes.Equal(e.Hash, hash[:]) {
			return e.Number
		}
	}
	return 0
}

// files are what an entry says.
func (h *history) files(number int) (files []config.File, err error) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	var found stored
	err = h.store.Each(bucket, func(key string, value []byte) error {
		if key != keyOf(number) {
			return nil
		}
		return json.Unmarshal(value, &found)
	})
	if err == nil && found.Number == 0 {
		return nil, api.WithRemedy(fmt.Errorf("the history has no %d", number), "see realmgate config history")
	}
	if err == nil {
		files, err = unpack(found.Files)
	}
	if err != nil {
		return nil, fmt.Errorf("read %d of the history: %w", number, err)
	}
	return files, nil
}

func unpack(packed []byte) (files []config.File, err error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(r) //nolint:gosec // we have written it, from files that have a bound
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &files); err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.New("it has no files")
	}
	return files, nil
}

// ConfigHistory implements api.ConfigCommands.
func (s *Service) ConfigHistory() ([]api.HistoryEntry, error) {
	h := &s.history
	h.mutex.Lock()
	defer h.mutex.Unlock()
	list := make([]api.HistoryEntry, len(h.entries))
	for i, e := range h.entries {
		list[i] = e.HistoryEntry
	}
	return list, nil
}
