package daemon

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/realmgate/realmgate/internal/store"
)

// stateDirectory is where a file for each instance keeps what outlives restarts.
const stateDirectory = "/var/lib/realmgate"

func statePath(instance string) string { return filepath.Join(stateDirectory, instance+".db") }

func (g nameServices) openStore(*draft) (_ change, err error) {
	g.store, err = openStore(g.options.Instance)
	return change{}, err
}

func (g nameServices) closeStore() error { return g.store.Close() }

// openStore opens the instance's file.
func openStore(instance string) (*store.Store, error) {
	return store.Open(statePath(instance))
}

// fileFault tells what to do about a file that cannot be read.
func fileFault(instance string, err error) error {
	switch {
	case errors.Is(err, store.ErrDamaged):
		return fmt.Errorf("move %s away to start without its bans, offences and bindings: %w", statePath(instance), err)
	case errors.Is(err, store.ErrInUse):
		return fmt.Errorf("end the other daemon of the instance, or start this one with another --instance: %w", err)
	}
	return err
}
