package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// runDirectory holds what belongs to running daemons.
const runDirectory = "/run/realmgate"

// lockPatience is how long the lock may take: a process that was killed has it
// until the kernel has taken it apart.
const lockPatience = time.Second

// LockInstance makes sure that one daemon at a time runs as the instance. The
// kernel lets go of the lock when the process ends, however it ends.
func LockInstance(instance string) (*os.File, error) {
	if err := os.MkdirAll(runDirectory, 0o711); err != nil { //nolint:gosec // members of groups pass through to the control socket
		return nil, fmt.Errorf("make the run directory: %w", err)
	}
	return lockFile(filepath.Join(runDirectory, instance+".lock"), instance)
}

func lockFile(path, instance string) (*os.File, error) {
	lock, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock of instance %s: %w", instance, err)
	}
	for end := time.Now().Add(lockPatience); ; time.Sleep(lockPatience / 50) {
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return lock, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Now().After(end) {
			break
		}
	}
	_ = lock.Close()
	if !errors.Is(err, unix.EWOULDBLOCK) {
		return nil, fmt.Errorf("lock instance %s: %w", instance, err)
	}
	return nil, fmt.Errorf("instance %s runs already (%s is locked): stop it, or choose another with --instance", instance, path)
}
