package datapath

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

const (
	fileSystem = "/sys/fs/bpf"
	// initRoot shows the mounts of the first process, which outlive ours:
	// `ip netns exec` gives each command a mount namespace whose pins die
	// with it.
	initRoot = "/proc/1/root"
)

// pinDirectory returns the instance's folder on a BPF file system that
// outlives this process, mounting one when it is missing.
func pinDirectory(instance string) (string, error) {
	root, err := fileSystemRoot()
	if err != nil {
		return "", err
	}
	return filepath.Join(root, "realmgate", instance), nil
}

func fileSystemRoot() (string, error) {
	root := fileSystem
	if !sharesMounts() {
		root = initRoot + fileSystem
	}
	if isBPF(root) {
		return root, nil
	}
	if err := inInitMounts(func() error { return unix.Mount("bpf", fileSystem, "bpf", 0, "mode=0700") }); err != nil {
		return "", fmt.Errorf("mount the BPF file system at %s: %w", fileSystem, err)
	}
	if !isBPF(root) {
		return "", fmt.Errorf("%s is not a BPF file system even after mounting one there", root)
	}
	return root, nil
}

func isBPF(path string) bool {
	var stat unix.Statfs_t
	return unix.Statfs(path, &stat) == nil && stat.Type == unix.BPF_FS_MAGIC
}

// sharesMounts reports whether our mount namespace is the first process's.
func sharesMounts() bool {
	own, err := os.Readlink("/proc/thread-self/ns/mnt")
	if err != nil {
		return true
	}
	first, err := os.Readlink("/proc/1/ns/mnt")
	return err != nil || own == first
}

// inInitMounts runs f in the first process's mount namespace, on a thread that
// is given up afterwards.
func inInitMounts(f func() error) error {
	if sharesMounts() {
		return f()
	}
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		result <- func() error {
			ns, err := os.Open("/proc/1/ns/mnt")
			if err != nil {
				return err
			}
			defer ns.Close()
			if err := unix.Unshare(unix.CLONE_FS); err != nil {
				return fmt.Errorf("unshare: %w", err)
			}
			if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNS); err != nil {
				return fmt.Errorf("enter the first process's mounts: %w", err)
			}
			return f()
		}()
	}()
	return <-result
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
