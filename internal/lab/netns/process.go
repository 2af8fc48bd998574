package netns

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// inode identifies a network namespace.
type inode struct{ device, number uint64 }

func inodeOf(path string) (inode, error) {
	var stat unix.Stat_t
	if err := unix.Stat(path, &stat); err != nil {
		return inode{}, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return inode{device: stat.Dev, number: stat.Ino}, nil
}

// killInside kills every other process whose network namespace is one of
// inodes, and waits until they are gone. It looks again until it finds none,
// since a process may start another before it dies.
func killInside(inodes []inode) error {
	if len(inodes) == 0 {
		return nil
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		pids, err := processesInside(inodes)
		if err != nil || len(pids) == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("processes %v do not die", pids)
		}
		for _, pid := range pids {
			if err := killIfInside(pid, inodes); err != nil {
				return fmt.Errorf("kill process %d: %w", pid, err)
			}
		}
	}
}

func processesInside(inodes []inode) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err == nil && pid != os.Getpid() && isInside(pid, inodes) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// isInside is false for a process that has ended: a zombie has no namespace.
func isInside(pid int, inodes []inode) bool {
	node, err := inodeOf(filepath.Join("/proc", strconv.Itoa(pid), "ns/net"))
	return err == nil && slices.Contains(inodes, node)
}

// killIfInside kills pid and waits for its end. The descriptor is opened before
// the second look: from then on no other process can have the number.
func killIfInside(pid int, inodes []inode) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if !isInside(pid, inodes) {
		return nil
	}
	if err := unix.PidfdSendSignal(fd, syscall.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return err
	}
	for {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 5000)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
