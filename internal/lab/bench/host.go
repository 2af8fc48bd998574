package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Host changes settings of the whole machine, and remembers in a file what they
// were, so that also the next run can put them back.
type Host struct {
	record string
	before []setting // in the order in which they were changed
}

// setting is what a file held, or an address that an interface did not have.
type setting struct {
	Path  string `json:"path,omitempty"`
	Value string `json:"value,omitempty"`

	Address *address `json:"address,omitempty"`
}

// openHost puts back what a run that was killed has left.
func openHost(record string) (*Host, error) {
	h := &Host{record: record}
	text, err := os.ReadFile(record)
	if errors.Is(err, os.ErrNotExist) {
		return h, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &h.before)
	}
	if err != nil {
		return nil, fmt.Errorf("read what an earlier run changed on this machine: %w", err)
	}
	return h, h.Restore()
}

// Get reads a setting, a file below /proc/sys or /sys.
func (h *Host) Get(path string) (string, error) { return readSetting(path) }

// Set writes a setting, a file below /proc/sys or /sys.
func (h *Host) Set(path, value string) error {
	old, err := readSetting(path)
	if err != nil {
		return err
	}
	if old == value {
		return nil
	}
	if !slices.ContainsFunc(h.before, func(s setting) bool { return s.Path == path && s.Address == nil }) {
		h.before = append(h.before, setting{Path: path, Value: old})
		if err := h.save(); err != nil {
			return err
		}
	}
	return writeSetting(path, value)
}

func (h *Host) save() error {
	text, err := json.Marshal(h.before)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(h.record), 0o755)
	}
	if err == nil {
		err = os.WriteFile(h.record, text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("remember the machine's settings: %w", err)
	}
	return nil
}

// Restore puts every setting back. Addresses in another network namespace stay
// remembered: only a run in there can take them away.
func (h *Host) Restore() error {
	var failed error
	var elsewhere []setting
	for _, s := range slices.Backward(h.before) {
		switch {
		case s.Address == nil:
			failed = errors.Join(failed, writeSetting(s.Path, s.Value))
		case !s.Address.here():
			elsewhere = append(elsewhere, s)
		default:
			failed = errors.Join(failed, s.Address.remove())
		}
	}
	if failed != nil {
		return failed
	}
	if h.before = elsewhere; len(elsewhere) > 0 {
		return h.save()
	}
	if err := os.Remove(h.record); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("forget the machine's settings: %w", err)
	}
	return nil
}

func readSetting(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read setting: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

func writeSetting(path, value string) error {
	if err := os.WriteFile(path, []byte(value), 0); err != nil {
		return fmt.Errorf("write %s to setting: %w", value, err)
	}
	return nil
}
