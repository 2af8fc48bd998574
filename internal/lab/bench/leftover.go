package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/realmgate/realmgate/internal/mounts"
)

// What measurements name after themselves: their folder, and what the gateways
// that they start leave by their instances' names.
var (
	leftoverFolder   = regexp.MustCompile(`^rg-bench-[0-9a-f]{8}$`)
	leftoverInstance = regexp.MustCompile(`^(bench-[0-9a-f]{8})-[0-9]+(\.sock|\.lock|\.db)?$`)
)

// stateDirectory is where gateways keep what outlives them: their bans.
const stateDirectory = "/var/lib/realmgate"

// removeLeftovers removes the files and pins of measurements that have ended or
// were killed. The caller holds the lock of measurements: none is at work, and the
// labs of those that were killed are swept.
func removeLeftovers() error {
	process, _ := mounts.Outer() // gateways pin where it lasts
	pins, err := mounts.Path(process, "/sys/fs/bpf")
	if err == nil {
		err = removeLeftoversOf(runDirectory, filepath.Join(pins, "realmgate"), stateDirectory)
	}
	if err != nil {
		return fmt.Errorf("remove what an earlier measurement left: %w", err)
	}
	return nil
}

// removeLeftoversOf removes what is of those measurements whose folder is there, and
// then the folder. A person's own instance may be called bench-20260101-1: it has none.
func removeLeftoversOf(run, pins, state string) error {
	folders, err := os.ReadDir(run)
	if err != nil {
		return err
	}
	measured := map[string]bool{}
	for _, folder := range folders {
		if folder.IsDir() && leftoverFolder.MatchString(folder.Name()) {
			measured[strings.TrimPrefix(folder.Name(), "rg-")] = true
		}
	}
	ours := func(name string) bool {
		match := leftoverInstance.FindStringSubmatch(name)
		return match != nil && measured[match[1]]
	}
	if err := errors.Join(removeMatching(run, ours), removeMatching(pins, ours), removeMatching(state, ours)); err != nil {
		return err // the folders stay, for the next measurement to go by
	}
	for id := range measured {
		err = errors.Join(err, os.RemoveAll(filepath.Join(run, "rg-"+id)))
	}
	return err
}

func removeMatching(folder string, matches func(name string) bool) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		if matches(entry.Name()) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(folder, entry.Name())))
		}
	}
	return err
}
