package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// lock waits until no other measurement runs, and says so once.
func lock(ctx context.Context, path string, waiting func(string)) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of the lock: %w", err)
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock: %w", err)
	}
	err = flock(file, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		owner, _ := os.ReadFile(path)
		waiting(fmt.Sprintf("another bench runs (pid %s): waiting", strings.TrimSpace(string(owner))))
		if err = queue(ctx, file); err != nil {
			return nil, err
		}
	}
	if err == nil {
		err = file.Truncate(0)
	}
	if err == nil {
		_, err = file.WriteAt(fmt.Appendln(nil, os.Getpid()), 0)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
	}
	return file, nil
}

// queue waits among others for a lock, whom the kernel serves in the order in which
// they came, or closes the file. A thread that waits there cannot be called away: when
// ctx ends it is left behind, and gives on what it gets before the process ends.
func queue(ctx context.Context, file *os.File) error {
	locked := make(chan error)
	go func() {
		err := flock(file, unix.LOCK_EX)
		select {
		case locked <- err:
		case <-ctx.Done():
			_ = file.Close()
		}
	}()
	select {
	case err := <-locked:
		if err != nil {
			err = errors.Join(fmt.Errorf("wait for the lock: %w", err), file.Close())
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func flock(file *os.File, how int) error {
	for {
		if err := unix.Flock(int(file.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
