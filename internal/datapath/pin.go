package datapath

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/mounts"
)

const fileSystem = "/sys/fs/bpf"

// pinDirectory returns the folder of the instance on a BPF file system that
// outlives this process, mounting one when it is missing. The path is good as
// long as this process lives.
func (d *core) pinDirectory() (string, error) {
	outer, certain := mounts.Outer()
	root, err := mounts.Path(outer, fileSystem)
	if err != nil {
		return "", err
	}
	if !isBPF(root) {
		if err := mounts.Do(outer, mountBPF); err != nil {
			return "", fmt.Errorf("mount the BPF file system at %s: %w", fileSystem, err)
		}
		if !certain {
			d.options.Logger.Warn("data plane persistence not certain", "hint", "it may end with this process: start it by nsenter or systemd, not by ip netns exec, which hides the BPF file system", "at", fileSystem)
		}
		if root, err = mounts.Path(outer, fileSystem); err != nil {
			return "", err
		}
	}
	return instanceDirectory(root, d.options.Instance), nil
}

func instanceDirectory(root, instance string) string {
	return filepath.Join(root, "realmgate", instance)
}

// Pinned says whether there is a file system for pins, and whether a data plane of an instance is in it.
func Pinned(instance string) (mounted, atWork bool) {
	outer, _ := mounts.Outer()
	root, err := mounts.Path(outer, fileSystem)
	if err != nil || !isBPF(root) {
		return false, false
	}
	pins, err := os.ReadDir(instanceDirectory(root, instance))
	return true, err == nil && len(pins) > 0
}

// pinPath is where something is pinned, "" where nothing is.
func (d *core) pinPath(name string) string {
	if d.directory == "" {
		return ""
	}
	return filepath.Join(d.directory, name)
}

func mountBPF() error {
	if err := unix.Mount("bpf", fileSystem, "bpf", 0, "mode=0700"); err != nil {
		return err
	}
	if !isBPF(fileSystem) {
		return errors.New("it is not there even after mounting")
	}
	return nil
}

func isBPF(path string) bool {
	var stat unix.Statfs_t
	return unix.Statfs(path, &stat) == nil && stat.Type == unix.BPF_FS_MAGIC
}

// unpin removes what the instance has pinned.
func unpin(directory string) error {
	err := os.RemoveAll(directory)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the pins under %s: %w", directory, err)
	}
	return nil
}
