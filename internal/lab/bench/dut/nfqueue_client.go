package dut

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// queueClient is a program that decides about the packets of one NFQUEUE.
type queueClient struct {
	socket  int
	number  uint16
	thread  atomic.Int64 // that decides
	ending  atomic.Bool
	ended   chan struct{}
	failed  error // why it ended, if not asked to
	decided atomic.Uint64
	overrun atomic.Uint64 // times that the socket had no room for a packet
}

const (
	// headerOctets is what is copied of a packet: IPv4 with options, and ports.
	headerOctets = 64
	// queuedMemory is what a queued packet's message takes of the socket's buffer.
	queuedMemory = 2048
	// mostInBatch is how many packets get their verdict by one message at most.
	mostInBatch = 64
	// lookAround is how often a client with nothing to do sees whether it is to end.
	lookAround = 100 * time.Millisecond
)

// openQueue takes a queue of at most length packets, in the namespace of the
// calling thread. It leaves a CPU to the tester, where there are others.
func openQueue(number uint16, length, tester int) (*queueClient, error) {
	fail := func(err error) (*queueClient, error) {
		return nil, fmt.Errorf("open packet queue %d: %w", number, err)
	}
	socket, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_NETFILTER)
	if err != nil {
		return fail(os.NewSyscallError("socket", err))
	}
	c := &queueClient{socket: socket, number: number, ended: make(chan struct{})}
	patience := unix.NsecToTimeval(int64(lookAround))
	err = errors.Join(
		unix.Bind(socket, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}),
		unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, length*queuedMemory),
		unix.SetsockoptTimeval(socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &patience),
		c.configure(configCommand, commandBind, 0, 0, 0),
		c.configure(configCopy, append(word(headerOctets), copyPacket)...),
		c.configure(configLength, word(uint32(length))...))
	if err != nil {
		return fail(errors.Join(err, unix.Close(socket)))
	}
	go c.serve(tester)
	return c, nil
}

func (c *queueClient) configure(what uint16, value ...byte) error {
	m := newQueueMessage(messageConfig, unix.NLM_F_ACK, c.number)
	m.add(what, value...)
	if _, err := unix.Write(c.socket, m); err != nil {
		return os.NewSyscallError("write", err)
	}
	answer := make([]byte, 4096)
	n, err := unix.Read(c.socket, answer)
	if err != nil {
		return os.NewSyscallError("read", err)
	}
	return parseAnswer(answer[:n])
}

// serve decides until close. Its thread ends with it, and with the thread what CPUs
// it may use.
func (c *queueClient) serve(tester int) {
	runtime.LockOSThread()
	defer close(c.ended)
	if c.failed = avoid(tester); c.failed != nil {
		return
	}
	c.thread.Store(int64(unix.Gettid()))
	verdict, buffer := verdictTemplate(c.number), make([]byte, 4096)
	for !c.ending.Load() {
		if err := c.batch(verdict, buffer); err != nil {
			c.failed = err
			return
		}
	}
}

// avoid keeps the calling thread from a CPU, unless it is the only one.
func avoid(cpu int) error {
	var may unix.CPUSet
	if err := unix.SchedGetaffinity(0, &may); err != nil {
		return os.NewSyscallError("sched_getaffinity", err)
	}
	if may.Clear(cpu); may.Count() == 0 {
		return nil
	}
	if err := unix.SchedSetaffinity(0, &may); err != nil {
		return fmt.Errorf("leave CPU %d to the tester: %w", cpu, os.NewSyscallError("sched_setaffinity", err))
	}
	return nil
}

// batch reads what waits, and gives neighbours that are judged alike one verdict.
func (c *queueClient) batch(verdict queueMessage, buffer []byte) error {
	var last, mark, n uint32
	flags := 0 // wait for the first only
	for ; n < mostInBatch; flags = unix.MSG_DONTWAIT {
		length, _, err := unix.Recvfrom(c.socket, buffer, flags)
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
			break
		}
		if errors.Is(err, unix.ENOBUFS) {
			c.overrun.Add(1)
			continue
		}
		if err != nil {
			return os.NewSyscallError("recvfrom", err)
		}
		q, err := parseQueued(buffer[:length])
		if err != nil {
			return err
		}
		judged := judge(q.packet)
		if n > 0 && judged != mark {
			if err := c.send(verdict, last, mark, n); err != nil {
				return err
			}
			n = 0
		}
		last, mark, n = q.id, judged, n+1
	}
	if n == 0 {
		return nil
	}
	return c.send(verdict, last, mark, n)
}

func (c *queueClient) send(verdict queueMessage, last, mark, packets uint32) error {
	// Counted first: what has arrived at the tester has been counted.
	c.decided.Add(uint64(packets))
	verdict.setVerdict(last, mark)
	if _, err := unix.Write(c.socket, verdict); err != nil {
		return fmt.Errorf("give a verdict: %w", os.NewSyscallError("write", err))
	}
	return nil
}

// time returns the CPU time that its thread has taken, with what the kernel does
// for packets after their verdict.
func (c *queueClient) time() (time.Duration, error) {
	// MAKE_THREAD_CPUCLOCK (linux/posix-timers_types.h), for clock_gettime.
	const perThread, scheduled = 4, 2
	var spent unix.Timespec
	if err := unix.ClockGettime(int32(^c.thread.Load()<<3|perThread|scheduled), &spent); err != nil {
		return 0, fmt.Errorf("read a thread's time: %w", err)
	}
	return time.Duration(spent.Nano()), nil
}

// waited returns how long its thread has been ready to run and did not.
func (c *queueClient) waited() (time.Duration, error) {
	var ran, waited int64
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/schedstat", c.thread.Load()))
	if err == nil {
		_, err = fmt.Sscan(string(text), &ran, &waited)
	}
	if err != nil {
		return 0, fmt.Errorf("read how long a thread waited for its CPU: %w", err)
	}
	return time.Duration(waited), nil
}

// close waits for the end of serve. It returns why it ended before, if it did.
func (c *queueClient) close() error {
	c.ending.Store(true)
	<-c.ended
	return errors.Join(c.failed, unix.Close(c.socket))
}
