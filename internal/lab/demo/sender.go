package demo

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	packetLength = 1400              // octets of an IP packet, which rates count
	payload      = packetLength - 28 // IPv4 and UDP headers
	packetBits   = 8 * packetLength

	pace      = time.Millisecond // how often packets that are due are sent
	mostBurst = 16               // of packets that are late, beyond those that are due
)

// phase is a time at a rate, in bits of IP packets a second.
type phase struct {
	rate float64
	last time.Duration
}

func (p phase) packets() int { return int(p.rate * p.last.Seconds() / packetBits) }

// burst is packets that went out one right after the other, between two times since
// an epoch.
type burst struct {
	first, count  int
	before, after time.Duration
}

// sender sends the packets of one flow, each with the flow's key and its number.
type sender struct {
	conn  net.Conn
	epoch time.Time
	frame []byte
	next  int
	sent  []burst
}

func newSender(conn net.Conn, key uint64, epoch time.Time) *sender {
	s := &sender{conn: conn, epoch: epoch, frame: make([]byte, payload)}
	binary.BigEndian.PutUint64(s.frame, key)
	return s
}

func (s *sender) now() time.Duration { return time.Since(s.epoch) }

// burst sends the next packets.
func (s *sender) burst(count int) error {
	b := burst{first: s.next, count: count, before: s.now()}
	for range count {
		binary.BigEndian.PutUint64(s.frame[8:], uint64(s.next))
		// Refused is what a closed port said about an earlier packet.
		if _, err := s.conn.Write(s.frame); err != nil && !errors.Is(err, syscall.ECONNREFUSED) {
			return fmt.Errorf("send a packet to %s: %w", s.conn.RemoteAddr(), err)
		}
		s.next++
	}
	b.after = s.now()
	s.sent = append(s.sent, b)
	return nil
}

// send goes through the phases. The first begins when the first packet is out, so that
// the windows of a function that begins them with a packet never end later than
// phases of their length. What is late is sent as soon as can be, in its order.
func (s *sender) send(ctx context.Context, phases []phase) error {
	if err := s.burst(1); err != nil {
		return err
	}
	begin := s.now()
	done := 1
	for _, p := range phases {
		gap := time.Duration(float64(time.Second) * packetBits / p.rate)
		most := int(pace/gap) + mostBurst
		for total := p.packets(); done < total; {
			due := min(int((s.now()-begin)/gap)+1, total) - done
			if due <= 0 {
				if err := rest(ctx, pace); err != nil {
					return err
				}
				continue
			}
			if err := errors.Join(ctx.Err(), s.burst(min(due, most))); err != nil {
				return err
			}
			done += min(due, most)
		}
		begin += p.last
		done = 0
		if err := rest(ctx, begin-s.now()); err != nil {
			return err
		}
	}
	return nil
}

// first runs f before what ordinary programs of the machine do, on a thread that ends
// with it.
func first(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		_ = unix.Setpriority(unix.PRIO_PROCESS, 0, -10) // else it waits its turn
		done <- f()
	}()
	return <-done
}

// rest waits.
func rest(ctx context.Context, d time.Duration) error {
	wait := time.NewTimer(d)
	defer wait.Stop()
	select {
	case <-wait.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
