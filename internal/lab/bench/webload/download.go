package webload

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Download is what came of connections that read as fast as they can.
type Download struct {
	Octets int64
	Took   time.Duration
	Busy   time.Duration // of all CPUs of the machine, whoever had them
}

const (
	beginWithin = 15 * time.Second       // hellos are lost, and come again, while others already load
	warmFor     = 200 * time.Millisecond // until windows are open
)

// Download has so many connections read for so long, once each of them has begun.
func (c *Client) Download(connections int, length time.Duration) (Download, error) {
	l := &loader{open: map[int]*visit{}, octets: make([]byte, bulkLength), wanted: connections, length: length}
	var err error
	if l.dialer, err = c.dialer(bulk); err == nil {
		err = c.Do(l.run)
	}
	if err != nil {
		err = fmt.Errorf("download: %w", err)
	}
	return l.Download, err
}

type loader struct {
	*dialer
	Download
	wanted  int
	length  time.Duration
	poller  *poller
	open    map[int]*visit
	begun   int
	octets  []byte
	counted int64 // octets since the beginning
}

func (l *loader) run() (err error) {
	if l.poller, err = newPoller(); err != nil {
		return err
	}
	defer func() {
		for _, v := range l.open {
			v.hang()
		}
		err = errors.Join(err, l.poller.close())
	}()
	for range l.wanted {
		v, err := l.dial(time.Now())
		if err != nil {
			return err
		}
		l.open[v.fd] = v
		if err := l.poller.add(v.fd, unix.EPOLLIN|unix.EPOLLOUT|unix.EPOLLET); err != nil {
			return err
		}
	}
	limit := time.Now().Add(beginWithin)
	if err := l.until(func(now time.Time) bool { return l.begun == l.wanted || now.After(limit) }); err != nil {
		return err
	}
	if l.begun < l.wanted {
		return fmt.Errorf("%d of %d connections had nothing after %s", l.wanted-l.begun, l.wanted, beginWithin)
	}
	warm := time.Now().Add(warmFor)
	if err := l.until(func(now time.Time) bool { return now.After(warm) }); err != nil {
		return err
	}
	return l.measure()
}

func (l *loader) measure() error {
	busy, err := readBusy()
	if err != nil {
		return err
	}
	began, before := time.Now(), l.counted
	if err := l.until(func(now time.Time) bool { return now.Sub(began) >= l.length }); err != nil {
		return err
	}
	after, err := readBusy()
	l.Octets, l.Took, l.Busy = l.counted-before, time.Since(began), after-busy
	return err
}

// until reads whatever comes.
func (l *loader) until(over func(now time.Time) bool) error {
	for !over(time.Now()) {
		events, _, err := l.poller.wait(wakeEvery)
		if err != nil {
			return err
		}
		for _, e := range events {
			if err := l.proceed(l.open[int(e.Fd)]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *loader) proceed(v *visit) error {
	if !v.said {
		err := l.say(v)
		if v.said { // from now on what is there to be read is told again and again, so that all have their turn
			err = unix.EpollCtl(l.poller.fd, unix.EPOLL_CTL_MOD, v.fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(v.fd)})
		}
		return err
	}
	n, err := unix.Read(v.fd, l.octets)
	switch {
	case errors.Is(err, unix.EAGAIN):
		return nil
	case err != nil:
		return err
	case n == 0:
		return errors.New("a connection has ended")
	case !v.heard:
		v.heard = true
		l.begun++
	}
	l.counted += int64(n)
	return nil
}
