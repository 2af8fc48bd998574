package datapath

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const fileSystem = "/sys/fs/bpf"

// PinDirectory returns the folder of an instance on a BPF file system that
// outlives this process, mounting one when it is missing. The path is good as
// long as this process lives.
func PinDirectory(instance string) (string, error) {
	root, err := fileSystemRoot(outerProcess())
	if err != nil {
		return "", err
	}
	return filepath.Join(root, "realmgate", instance), nil
}

func fileSystemRoot(outer string) (string, error) {
	root, err := seenFrom(outer, fileSystem)
	if err != nil {
		return "", err
	}
	if isBPF(root) {
		return root, nil
	}
	if err := inMounts(outer, func() error { return unix.Mount("bpf", fileSystem, "bpf", 0, "mode=0700") }); err != nil {
		return "", fmt.Errorf("mount the BPF file system at %s: %w", fileSystem, err)
	}
	if root, err = seenFrom(outer, fileSystem); err == nil && !isBPF(root) {
		err = fmt.Errorf("%s is not a BPF file system even after mounting one there", fileSystem)
	}
	return root, err
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

func networkNamespace() (uint64, error) {
	var stat unix.Stat_t
	if err := unix.Stat("/proc/thread-self/ns/net", &stat); err != nil {
		return 0, fmt.Errorf("look at our network namespace: %w", err)
	}
	return stat.Ino, nil
}
