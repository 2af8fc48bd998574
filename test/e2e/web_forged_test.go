package e2e

import (
	"context"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/packets"
)

// byPort is a node whose connections come from one port.
type byPort struct {
	netns.Node
	port uint16
}

func (b byPort) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return b.DialFrom(ctx, network, netip.AddrPortFrom(b.IP, b.port), address)
}

// numbers are those of a connection by name, as its client sees them.
type numbers struct{ client, host atomic.Uint32 }

// eavesdrop keeps what comes to a client up to date, until the test ends.
func (r *realm) eavesdrop(at byPort) *numbers {
	r.t.Helper()
	frames, err := at.Frames("eth0")
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = frames.Close() })
	seen := new(numbers)
	go func() {
		buffer := make([]byte, 65536)
		for {
			n, err := frames.Read(buffer)
			if err != nil {
				return
			}
			if p, err := packets.Parse(buffer[:n]); err == nil && p.TCP != nil && p.TCP.Destination == at.port {
				seen.client.Store(p.TCP.Acknowledge)
				seen.host.Store(p.TCP.Sequence)
			}
		}
	}()
	return seen
}

// forgedSegments are what a third party sends in the name of a client whose numbers it guesses, well or badly: never quite.
func forgedSegments(client netip.AddrPort, seen *numbers) []packets.Packet {
	segment := func(flags packets.Flags, sequence, acknowledge uint32) packets.Packet {
		p := packets.NewTCP(client, webPlace, flags, "")
		p.TCP.Sequence, p.TCP.Acknowledge = sequence, acknowledge
		return p
	}
	near, any32 := seen.client.Load()+1+rand.Uint32N(20_000), rand.Uint32() //nolint:gosec // any will do
	host := seen.host.Load()
	return []packets.Packet{
		segment(packets.SYN, any32, 0), segment(packets.SYN, near, 0),
		segment(packets.RST, any32, 0), segment(packets.RST|packets.ACK, any32, host),
		segment(packets.RST, near+200_000, 0), segment(packets.RST, near, 0), segment(packets.RST|packets.ACK, near, host),
		segment(packets.SYN, near, 0), // as if the port were used again
	}
}

// forgedErrors quote what the host has sent, or never has: that nobody is there, and that it was too long.
func forgedErrors(from netip.Addr, client netip.AddrPort, seen *numbers) (all []packets.Packet) {
	for _, sequence := range []uint32{rand.Uint32(), seen.host.Load(), seen.host.Load() + 1<<20} { //nolint:gosec // any will do
		p := packets.NewTCP(webPlace, client, packets.ACK, strings.Repeat("x", 1400))
		p.TCP.Sequence, p.TCP.Acknowledge = sequence, seen.client.Load()
		for _, e := range []struct {
			kind, code byte
			rest       uint32
		}{
			{3, 0, 0}, {3, 1, 0}, {3, 2, 0}, {3, 3, 0}, {3, 13, 0}, {11, 0, 0}, {4, 0, 0}, {12, 0, 0},
			{3, 4, 0}, {3, 4, 1}, {3, 4, 68}, {3, 4, 1000}, {3, 4, 0xffff}, {3, 4, 0xffffffff},
		} {
			all = append(all, packets.NewICMPError(from, webAddress, e.kind, e.code, e.rest, p, 8))
		}
	}
	return all
}

// counter is one of a node's kernel.
func counter(t *testing.T, at netns.Node, name string) (value int) {
	t.Helper()
	var text []byte
	err := at.Do(func() (err error) { text, err = os.ReadFile("/proc/thread-self/net/netstat"); return err })
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^TcpExt: (.*)$`).FindAllStringSubmatch(string(text), -1)
	for i, column := range strings.Fields(rows[0][1]) {
		if column == name {
			value, _ = strconv.Atoi(strings.Fields(rows[1][1])[i])
		}
	}
	return value
}

// A third party sends, in the name of a client, all that ends connections: with numbers that it guesses, and with such as
// only who is on the way could know but for a few. The download goes on and is whole.
func TestWebOutlivesForgeries(t *testing.T) {
	t.Parallel()
	const octets, port = 12 << 20, 45678
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
	client, _ := r.behindWire(1, weather{takes: 2 * time.Millisecond, rate: 3_000_000, queue: 100 * time.Millisecond})
	victim := byPort{client, port}
	k := r.delivers()
	attack := r.sender(r.Clients[0], r.gatewayMAC(r.Gateway.Public[0]))
	seen := r.eavesdrop(victim)
	end, ended, rounds := make(chan struct{}), make(chan struct{}), 0
	go func() {
		defer close(ended)
		for {
			select {
			case <-end:
				return
			case <-time.After(2 * time.Millisecond):
			}
			if seen.host.Load() == 0 {
				continue // it has not begun
			}
			rounds++
			at := netip.AddrPortFrom(client.IP, port)
			for _, p := range append(forgedSegments(at, seen), forgedErrors(r.Clients[0].IP, at, seen)...) {
				attack(p)
			}
		}
	}()
	done, err := k.transfer(victim, webPlace, download, octets, time.Minute)
	close(end)
	<-ended
	if err != nil || done.octets != octets {
		t.Errorf("%d of %d octets: %v", done.octets, octets, err)
	}
	challenges := counter(t, r.Hosts()[0], "TCPChallengeACK")
	t.Logf("%d rounds of forgeries while %d octets came; the host sent %d challenges", rounds, done.octets, challenges)
	if challenges == 0 {
		t.Error("nothing of it reached the host")
	}
}
