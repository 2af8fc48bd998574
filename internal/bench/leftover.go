package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/realmgate/realmgate/internal/mounts"
)

// What measurements name after themselves: their folder, and what the gateways
// that they start leave by their instances' names.
var (
	leftoverFolder   = regexp.MustCompile(`^rg-bench-[0-9a-f]{8}$`)
	leftoverInstance = regexp.MustCompile(`^bench-[0-9a-f]{8}-[0-9]+(\.sock|\.lock)?$`)
)

// removeLeftovers removes the files and pins of measurements that have ended or
// were killed. The caller holds the lock of measurements: none is at work, and the
// labs of those that were killed are swept.
func removeLeftovers() error {
	process, _ := mounts.Outer() // gateways pin where it lasts
	pins, err := mounts.Path(process, "/sys/fs/bpf")
	if err == nil {
		err = errors.Join(removeMatching(runDirectory, leftoverFolder), removeMatching(runDirectory, leftoverInstance),
			removeMatching(filepath.Join(pins, "realmgate"), leftoverInstance))
	}
	if err != nil {
		return fmt.Errorf("remove what an earlier measurement left: %w", err)
	}
	return nil
}

func removeMatching(folder string, names *regexp.Regexp) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		if names.MatchString(entry.Name()) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(folder, entry.Name())))
		}
	}
	return err
}
