package demo

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// sinkBuffer holds what comes while a busy machine does not let the sink read: each
// packet counts as the pages that it lies in.
const sinkBuffer = 64 << 20

// sink counts the packets of one flow where it is to arrive.
type sink struct {
	conn  *net.UDPConn
	key   uint64
	epoch time.Time
	every time.Duration // of a count

	mutex    sync.Mutex
	came     []bool // by number
	count    int
	counts   []int // by time
	strange  int   // packets of another flow, or a number twice
	finished chan struct{}
}

func newSink(at person, port uint16, key uint64, most int, epoch time.Time, every time.Duration) (*sink, error) {
	listener, err := at.ListenPacket("udp4", netip.AddrPortFrom(at.IP, port).String())
	if err != nil {
		return nil, err
	}
	conn := listener.(*net.UDPConn)
	if err := enlarge(conn); err != nil {
		return nil, errors.Join(fmt.Errorf("enlarge the buffer of port %d of %s: %w", port, at.name, err), conn.Close())
	}
	s := &sink{conn: conn, key: key, epoch: epoch, every: every, came: make([]bool, most), finished: make(chan struct{})}
	go func() { _ = first(s.receive) }()
	return s, nil
}

func enlarge(conn syscall.Conn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var set error
	err = raw.Control(func(fd uintptr) {
		set = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, sinkBuffer)
	})
	return errors.Join(err, set)
}

// receive counts until the socket is closed.
func (s *sink) receive() error {
	defer close(s.finished)
	buffer := make([]byte, 2048)
	for {
		n, _, err := s.conn.ReadFromUDPAddrPort(buffer)
		if err != nil {
			return err
		}
		s.note(buffer[:n], time.Since(s.epoch))
	}
}

func (s *sink) note(packet []byte, at time.Duration) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(packet) != payload || binary.BigEndian.Uint64(packet) != s.key {
		s.strange++
		return
	}
	number := binary.BigEndian.Uint64(packet[8:])
	if number >= uint64(len(s.came)) || s.came[number] {
		s.strange++
		return
	}
	s.came[number] = true
	s.count++
	place := int(at / s.every)
	for len(s.counts) <= place {
		s.counts = append(s.counts, 0)
	}
	s.counts[place]++
}

// total is how many packets came.
func (s *sink) total() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.count
}

// rate is what came in a while, in bits of IP packets a second.
func (s *sink) rate(place int) float64 {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if place >= len(s.counts) {
		return 0
	}
	return float64(s.counts[place]) * packetBits / s.every.Seconds()
}

// close ends the counting.
func (s *sink) close() {
	_ = s.conn.Close() // nothing is left to be read
	<-s.finished
}
