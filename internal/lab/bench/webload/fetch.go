package webload

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Plan is how pages are fetched, each by a connection of its own.
type Plan struct {
	Parallel int           // as fast as can be, so many at a time; or
	Rate     float64       // so many a second, whatever becomes of them
	Length   time.Duration // for how long they are begun
	Patience time.Duration // that a client has until the first octet
}

// Fetches is what came of a Plan.
type Fetches struct {
	Done   int       // were answered by the right host, in Length where they were begun in parallel
	Late   int       // had no answer in time
	Failed int       // were refused, reset or ended without an answer
	Wrong  int       // were answered by another host
	Times  []float64 // seconds from when a connection was due to its first octet
}

// Fetch carries out a plan.
func (c *Client) Fetch(p Plan) (Fetches, error) {
	d, err := c.dialer(page)
	if err != nil {
		return Fetches{}, err
	}
	f := &fetcher{dialer: d, plan: p, open: map[int]*visit{}, octets: make([]byte, 4*pageLength), clock: -1}
	err = c.Do(f.run)
	if err != nil {
		err = fmt.Errorf("fetch pages: %w", err)
	}
	return f.Fetches, err
}

type fetcher struct {
	*dialer
	Fetches
	plan   Plan
	poller *poller
	clock  int // a timer for the next that is due
	began  time.Time
	due    int // how many were, at a rate
	open   map[int]*visit
	octets []byte
}

func (f *fetcher) run() (err error) {
	if f.poller, err = newPoller(); err != nil {
		return err
	}
	defer func() {
		for _, v := range f.open {
			v.hang()
		}
		if f.clock >= 0 {
			_ = unix.Close(f.clock)
		}
		err = errors.Join(err, f.poller.close())
	}()
	if f.plan.Rate > 0 {
		if err := f.startClock(); err != nil {
			return err
		}
	}
	f.began = time.Now()
	looked := f.began
	for {
		now := time.Now()
		if err := f.begin(now); err != nil {
			return err
		}
		if now.Sub(f.began) >= f.plan.Length && (len(f.open) == 0 || f.plan.Rate == 0) {
			return nil
		}
		events, _, err := f.poller.wait(wakeEvery)
		if err != nil {
			return err
		}
		now = time.Now()
		for _, e := range events {
			if v := f.open[int(e.Fd)]; v != nil {
				f.proceed(v, now)
			} else if int(e.Fd) == f.clock {
				_, _ = unix.Read(f.clock, f.octets) // how often it has rung: the time itself says more
			}
		}
		if now.Sub(looked) >= wakeEvery {
			f.expire(now)
			looked = now
		}
	}
}

// startClock wakes the thread whenever a connection is due.
func (f *fetcher) startClock() (err error) {
	if f.clock, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC); err != nil {
		return os.NewSyscallError("timerfd_create", err)
	}
	every := unix.NsecToTimespec(int64(float64(time.Second) / f.plan.Rate))
	if err := unix.TimerfdSettime(f.clock, 0, &unix.ItimerSpec{Interval: every, Value: every}, nil); err != nil {
		return os.NewSyscallError("timerfd_settime", err)
	}
	return f.poller.add(f.clock, unix.EPOLLIN)
}

// begin begins what is due.
func (f *fetcher) begin(now time.Time) error {
	for now.Sub(f.began) < f.plan.Length {
		due := now
		if f.plan.Rate > 0 {
			due = f.began.Add(time.Duration(float64(f.due) * float64(time.Second) / f.plan.Rate))
			if due.After(now) {
				return nil
			}
			f.due++
		} else if len(f.open) >= f.plan.Parallel {
			return nil
		}
		v, err := f.dial(due)
		if err == nil {
			err = f.poller.add(v.fd, unix.EPOLLIN|unix.EPOLLOUT|unix.EPOLLET)
		}
		if err != nil {
			return err
		}
		f.open[v.fd] = v
	}
	return nil
}

// proceed goes on with a connection as far as it can.
func (f *fetcher) proceed(v *visit, now time.Time) {
	if !v.said {
		if f.say(v) != nil {
			f.Failed++
			f.close(v)
		}
		return // an answer is an event of its own
	}
	for {
		n, err := unix.Read(v.fd, f.octets)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return
		case err != nil || n == 0:
			if !v.heard {
				f.Failed++
			}
			f.close(v)
			return
		case !v.heard:
			v.heard = true
			f.hear(v, f.octets[:n], now)
		}
	}
}

// hear takes in the first of an answer.
func (f *fetcher) hear(v *visit, octets []byte, now time.Time) {
	host, _ := netip.AddrFromSlice(octets[:min(len(octets), addressLength)])
	switch {
	case host != f.Sites[v.site].Host:
		f.Wrong++
	case now.Sub(v.due) > f.plan.Patience:
		f.Late++
	default:
		f.Done++
		f.Times = append(f.Times, now.Sub(v.due).Seconds())
	}
}

func (f *fetcher) close(v *visit) {
	delete(f.open, v.fd)
	_ = unix.Close(v.fd) // both have said all
}

// expire gives up what has waited too long.
func (f *fetcher) expire(now time.Time) {
	for _, v := range f.open {
		if now.Sub(v.due) <= f.plan.Patience {
			continue
		}
		if !v.heard {
			f.Late++
		}
		delete(f.open, v.fd)
		v.hang()
	}
}
