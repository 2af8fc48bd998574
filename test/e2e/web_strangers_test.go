package e2e

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/packets"
)

// strangers are clients of a web address that have nothing in common. Where one kernel has thousands of connections, it sends
// again in bursts: its timers end in steps, of a quarter of a second where they are for more than two (timers of 250 Hz).
type strangers struct {
	frames *netns.Frames
	syns   [][]byte
	text   string

	mutex sync.Mutex
	said  []saying     // in the order in which they were said
	told  atomic.Int64 // by RST
	end   chan struct{}
	done  sync.WaitGroup
}

// saying is what one said first, and when.
type saying struct {
	frame []byte
	at    time.Time
}

// sendsAgain is when a client sends again of which it hears nothing, if its timer is for 0.2 s first (RFC 6298 section 5.5).
var sendsAgain = []time.Duration{200 * time.Millisecond, 600 * time.Millisecond, 1400 * time.Millisecond, 3 * time.Second, 6200 * time.Millisecond}

// strangers come to a web address from so many addresses of each of so many /24 of 203.0.0.0/16, which lead to the node. Each says
// the text, and sends it again, whatever it hears.
func (r *realm) strangers(at netns.Node, networks, each int, text string) *strangers {
	r.t.Helper()
	frames, err := at.Frames("eth0")
	if err != nil {
		r.t.Fatal(err)
	}
	s := &strangers{frames: frames, text: text, end: make(chan struct{})}
	s.syns = r.frames(at, r.Gateway.Public[0], networks*each, func(i int) packets.Packet {
		from := netip.AddrFrom4([4]byte{203, 0, byte(i % networks), byte(1 + i/networks)}) //nolint:gosec // at most 254 of each
		p := packets.NewTCP(netip.AddrPortFrom(from, 40_000), webPlace, packets.SYN, "")
		p.TCP.Options = []byte{2, 4, 1460 >> 8, 1460 & 0xff, 4, 2, 1, 1} // an MSS, and SACK
		return p
	})
	s.done.Go(s.hear)
	s.done.Go(s.again)
	s.done.Go(s.come)
	return s
}

const strangersRate = 4000 // a second

func (s *strangers) come() {
	for i, began := 0, time.Now(); i < len(s.syns); time.Sleep(time.Millisecond) {
		for due := int(time.Since(began).Seconds() * strangersRate); i < min(due, len(s.syns)); i++ {
			_ = s.frames.Send(s.syns[i])
		}
	}
}

func (s *strangers) hear() {
	buffer := make([]byte, 65536)
	for {
		n, err := s.frames.Read(buffer)
		if err != nil {
			return
		}
		p, err := packets.Parse(buffer[:n])
		switch {
		case err != nil || p.TCP == nil:
		case p.TCP.Flags == packets.SYN|packets.ACK:
			s.say(p)
		case p.TCP.Flags&packets.RST != 0:
			s.told.Add(1)
		}
	}
}

func (s *strangers) say(answer packets.Packet) {
	p := packets.NewTCP(netip.AddrPortFrom(answer.IPv4.Destination, answer.TCP.Destination), webPlace, packets.ACK|packets.PSH, s.text)
	p.TCP.Sequence, p.TCP.Acknowledge = answer.TCP.Acknowledge, answer.TCP.Sequence+1
	f := p.Between(answer.Ethernet.Destination, answer.Ethernet.Source).Bytes()
	_ = s.frames.Send(f)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.said = append(s.said, saying{f, time.Now()})
}

func (s *strangers) again() {
	next := make([]int, len(sendsAgain))
	for {
		select {
		case <-s.end:
			return
		case <-time.After(time.Millisecond):
		}
		s.mutex.Lock()
		said := s.said
		s.mutex.Unlock()
		now := time.Now()
		for i, after := range sendsAgain {
			for ; next[i] < len(said) && now.Sub(said[next[i]].at) >= after; next[i]++ {
				_ = s.frames.Send(said[next[i]].frame)
			}
		}
	}
}

// leave has them say no more.
func (s *strangers) leave() {
	close(s.end)
	_ = s.frames.Close()
	s.done.Wait()
}
