package webload

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Flood sends frames over and over at a rate.
type Flood struct {
	rate    float64
	socket  int
	headers []header
	vectors []unix.Iovec
	frames  [][]byte // what the vectors point at
	over    atomic.Bool
	sent    int
	took    time.Duration
	ended   chan error
}

// header is struct mmsghdr of socket.h.
type header struct {
	unix.Msghdr
	sent uint32
	_    [4]byte
}

const (
	floodBatch = 128                    // frames that are sent by one call
	floodRest  = 200 * time.Microsecond // until more are due
)

// StartFlood sends frames by an interface of the network namespace that do runs functions in, past its queues.
func StartFlood(do func(func() error) error, ifindex int, frames [][]byte, rate float64) (*Flood, error) {
	f := &Flood{rate: rate, frames: frames, headers: make([]header, len(frames)), vectors: make([]unix.Iovec, len(frames)), ended: make(chan error, 1)}
	for i, frame := range frames {
		f.vectors[i].Base = &frame[0]
		f.vectors[i].SetLen(len(frame))
		f.headers[i].Iov = &f.vectors[i]
		f.headers[i].SetIovlen(1)
	}
	err := do(func() (err error) {
		// Of protocol 0 it receives nothing.
		if f.socket, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
			return os.NewSyscallError("socket", err)
		}
		err = errors.Join(unix.SetsockoptInt(f.socket, unix.SOL_PACKET, unix.PACKET_QDISC_BYPASS, 1),
			unix.Bind(f.socket, &unix.SockaddrLinklayer{Ifindex: ifindex}))
		if err != nil {
			err = errors.Join(err, unix.Close(f.socket))
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("open a socket to flood by: %w", err)
	}
	go func() { f.ended <- onThread(f.run) }()
	return f, nil
}

func (f *Flood) run() error {
	// It keeps its rate whoever else wants the CPUs: what it is a flood for is to be the same for all.
	ordinary, err := unix.SchedGetAttr(0, 0)
	if err == nil {
		err = unix.SchedSetAttr(0, &unix.SchedAttr{Policy: unix.SCHED_FIFO, Priority: 1, Flags: unix.SCHED_FLAG_RESET_ON_FORK}, 0)
	}
	if err != nil {
		return fmt.Errorf("go before other processes: %w", err)
	}
	defer func() { _ = unix.SchedSetAttr(0, ordinary, 0) }()
	began := time.Now()
	defer func() { f.took = time.Since(began) }()
	for !f.over.Load() {
		due := int(f.rate*time.Since(began).Seconds()) - f.sent
		if due <= 0 {
			time.Sleep(floodRest)
			continue
		}
		at := f.sent % len(f.headers)
		n, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(f.socket), uintptr(unsafe.Pointer(&f.headers[at])),
			uintptr(min(due, floodBatch, len(f.headers)-at)), 0, 0, 0)
		if errno == unix.ENOBUFS { // the link takes no more now
			time.Sleep(floodRest)
			continue
		}
		if errno != 0 {
			return os.NewSyscallError("sendmmsg", errno)
		}
		f.sent += int(n)
	}
	return nil
}

// Stop returns how many frames were sent in a second.
func (f *Flood) Stop() (rate float64, err error) {
	f.over.Store(true)
	err = errors.Join(<-f.ended, unix.Close(f.socket))
	return float64(f.sent) / f.took.Seconds(), err
}
