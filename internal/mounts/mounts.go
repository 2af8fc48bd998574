package mounts

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// Outer returns the /proc folder of the eldest of our forebears whose mounts we
// may see, or nothing if they are ours too. It is certain if that is the eldest
// of all.
func Outer() (process string, certain bool) {
	own, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return "", false
	}
	for pid := os.Getppid(); pid > 0; pid = parent(pid) {
		forebear := filepath.Join("/proc", strconv.Itoa(pid))
		mounts, err := os.Readlink(filepath.Join(forebear, "ns/mnt"))
		certain = err == nil
		switch {
		case err != nil:
		case mounts == own:
			process = ""
		default:
			process = forebear
		}
	}
	return process, certain
}

// parent returns the parent of a process, 0 if it has none or is gone.
func parent(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The command's name, in parentheses, may hold anything (proc_pid_stat(5)).
	var state string
	var above int
	_, _ = fmt.Sscan(string(text[bytes.LastIndexByte(text, ')')+1:]), &state, &above)
	return above
}

// Path returns a path to what the process has at path. It holds also after
// the end of that process.
func Path(process, path string) (string, error) {
	if process == "" {
		return path, nil
	}
	fd, err := unix.Open(filepath.Join(process, "root", path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", fmt.Errorf("open %s of the host: %w", path, err)
	}
	return fmt.Sprintf("/proc/self/fd/%d", fd), nil // never closed: pins are made until the end
}

// Do runs f in the mount namespace of the process, on a thread that is
// given up afterwards.
func Do(process string, f func() error) error {
	if process == "" {
		return f()
	}
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		result <- func() error {
			ns, err := os.Open(process + "/ns/mnt")
			if err != nil {
				return err
			}
			defer ns.Close()
			if err := unix.Unshare(unix.CLONE_FS); err != nil {
				return fmt.Errorf("unshare: %w", err)
			}
			if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNS); err != nil {
				return fmt.Errorf("enter the mounts of %s: %w", process, err)
			}
			return f()
		}()
	}()
	return <-result
}
