package e2e

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// alarm sleeps until a time, to some ten microseconds. time.Sleep does not where a process is idle: Go's runtime waits in
// epoll_wait(2), whose timeout is in whole milliseconds, so that an idle wire of 1 ms there and back took 2.8.
type alarm struct{ *os.File }

func newAlarm() (alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return alarm{}, os.NewSyscallError("timerfd_create", err)
	}
	return alarm{os.NewFile(uintptr(fd), "timerfd")}, nil
}

// until returns at once where the time is past, and never before it.
func (a alarm) until(due time.Time) error {
	wait := time.Until(due)
	if wait <= 0 {
		return nil
	}
	raw, err := a.SyscallConn()
	if err != nil {
		return err
	}
	// A timer that has not fired is set anew by this.
	failed := raw.Control(func(fd uintptr) {
		err = unix.TimerfdSettime(int(fd), 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(wait))}, nil)
	})
	if failed != nil {
		return failed
	}
	if err != nil {
		return os.NewSyscallError("timerfd_settime", err)
	}
	_, err = a.Read(make([]byte, 8))
	return err
}
