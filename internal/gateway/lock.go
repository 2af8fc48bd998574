package gateway

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// runDirectory holds what belongs to running daemons.
const runDirectory = "/run/realmgate"

// lockInstance makes sure that one daemon at a time runs as the instance. The
// kernel lets go of the lock when the process ends, however it ends.
func lockInstance(instance string) (*os.File, error) {
	if err := os.MkdirAll(runDirectory, 0o700); err != nil {
		return nil, fmt.Errorf("make the run directory: %w", err)
	}
	path := filepath.Join(runDirectory, instance+".lock")
	lock, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock of instance %s: %w", instance, err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("instance %s runs already (%s is locked): stop it, or choose another with --instance", instance, path)
	}
	return lock, nil
}
