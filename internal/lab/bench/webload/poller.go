package webload

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// poller is an epoll of a thread, with an eventfd that others stop it by.
type poller struct {
	fd, stopper int
	events      []unix.EpollEvent
}

func newPoller() (*poller, error) {
	p := &poller{fd: -1, stopper: -1, events: make([]unix.EpollEvent, 256)}
	var err error
	if p.fd, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err == nil {
		p.stopper, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	}
	if err == nil {
		err = p.add(p.stopper, unix.EPOLLIN)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("wait for sockets: %w", err), p.close())
	}
	return p, nil
}

func (p *poller) add(fd int, events uint32) error {
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(p.fd, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: events, Fd: int32(fd)}))
}

// wait returns what is ready, nothing after a while, and false once it is to stop.
func (p *poller) wait(most time.Duration) ([]unix.EpollEvent, bool, error) {
	n, err := unix.EpollWait(p.fd, p.events, int(most/time.Millisecond))
	if errors.Is(err, unix.EINTR) {
		n, err = 0, nil
	}
	if err != nil {
		return nil, false, os.NewSyscallError("epoll_wait", err)
	}
	for _, e := range p.events[:n] {
		if int(e.Fd) == p.stopper {
			return nil, false, nil
		}
	}
	return p.events[:n], true, nil
}

func (p *poller) stop() error {
	_, err := unix.Write(p.stopper, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	return os.NewSyscallError("write", err)
}

func (p *poller) close() (err error) {
	for _, fd := range []int{p.fd, p.stopper} {
		if fd >= 0 {
			err = errors.Join(err, unix.Close(fd))
		}
	}
	return err
}
