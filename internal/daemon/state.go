package daemon

import (
	"path/filepath"

	"github.com/realmgate/realmgate/internal/store"
)

// stateDirectory is where a file for each instance keeps what outlives restarts.
const stateDirectory = "/var/lib/realmgate"

func statePath(instance string) string { return filepath.Join(stateDirectory, instance+".db") }

func unconfirmedPath(instance string) string {
	return filepath.Join(stateDirectory, instance+".unconfirmed.json")
}

func (g nameServices) openStore(*draft) (_ change, err error) {
	g.store, err = store.Open(statePath(g.options.Instance))
	return change{}, err
}

func (g nameServices) closeStore() error { return g.store.Close() }
