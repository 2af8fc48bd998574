package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/packets"
)

// echoLines answers each line with itself, on connections that stay silent else.
func echoLines(t *testing.T, at netns.Node, port int) {
	t.Helper()
	accepts(t, at, port, func(connection net.Conn) {
		quiet(connection)
		_, _ = io.Copy(connection, connection)
		_ = connection.Close()
	})
}

// quiet stops the keepalives of Go's network library.
func quiet(c net.Conn) { _ = c.(*net.TCPConn).SetKeepAlive(false) }

// line sends a line and wants it back.
func line(c net.Conn, text string) error {
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := fmt.Fprintln(c, text); err != nil {
		return err
	}
	back, err := bufio.NewReader(c).ReadString('\n')
	if err == nil && back != text+"\n" {
		err = fmt.Errorf("%q came back", back)
	}
	return err
}

// blindResets are what somebody forges who knows both addresses and the server's port: an RST for each port.
func (r *realm) blindResets(from netns.Node, server, victim netip.AddrPort) [][]byte {
	r.t.Helper()
	source, err := from.MAC("eth0")
	if err != nil {
		r.t.Fatal(err)
	}
	frames := make([][]byte, 0, 65535)
	for port := 1; port <= 65535; port++ {
		p := packets.NewTCP(server, netip.AddrPortFrom(victim.Addr(), uint16(port)), packets.RST, "")
		p.TCP.Sequence = 12345
		frames = append(frames, p.Between(packets.MAC(source), r.gatewayMAC(r.Gateway.Public[0])).Bytes())
	}
	return frames
}

// throw sends all frames, at most so many a second (0: as fast as one core can), and returns how many it sent in one.
func throw(t *testing.T, from netns.Node, all [][]byte, rate int) float64 {
	t.Helper()
	frames, err := from.Frames("eth0")
	if err != nil {
		t.Fatal(err)
	}
	defer frames.Close()
	began := time.Now()
	for i, frame := range all {
		if rate > 0 && i%100 == 0 {
			time.Sleep(time.Until(began.Add(time.Duration(i) * time.Second / time.Duration(rate))))
		}
		if err := frames.Send(frame); err != nil {
			t.Fatal(err)
		}
	}
	return float64(len(all)) / time.Since(began).Seconds()
}

// field-attacks.md A7: an RST for every port, in the name of the server that hosts inside have idle connections to, at
// 30,000 a second and then as fast as one core can.
func TestBlindResetsOfIdleConnections(t *testing.T) {
	t.Parallel()
	const each, closing = 20, 2 * time.Second
	r := newRealm(t, netns.Options{Hosts: 2, Clients: 1, Servers: 1})
	server := netip.AddrPortFrom(r.Servers[0].IP, 7)
	echoLines(t, r.Servers[0], 7)
	d := r.start(with(r.configuration(), fmt.Sprintf("timeouts: {tcp_closing: %s}", closing)))
	var idle []net.Conn
	for _, host := range r.Hosts() {
		for range each {
			connection, err := host.DialContext(t.Context(), "tcp4", server.String())
			if err != nil {
				t.Fatal(err)
			}
			defer connection.Close()
			quiet(connection)
			if err := line(connection, "before"); err != nil {
				t.Fatal(err)
			}
			idle = append(idle, connection)
		}
	}
	all := r.blindResets(r.Clients[0], server, netip.AddrPortFrom(r.Gateway.Outbound, 0))
	for _, rate := range []int{30_000, 0} {
		rounds := all
		if rate == 0 {
			rounds = nil
			for range 10 {
				rounds = append(rounds, all...)
			}
		}
		before := d.counted("forwarded")
		sent := throw(t, r.Clients[0], rounds, rate)
		if forwarded := d.counted("forwarded") - before; forwarded < uint64(len(idle)*len(rounds)/len(all)) {
			t.Errorf("%d RSTs met a session: the test shows nothing", forwarded)
		}
		time.Sleep(2 * closing) // what a believed RST ends is gone then
		lost := 0
		for _, connection := range idle {
			if err := line(connection, "after"); err != nil {
				lost++
				t.Log(err)
			}
		}
		t.Logf("%d RSTs at %.0f a second: %d of %d idle connections lost", len(rounds), sent, lost, len(idle))
		// The guess meets the numbers of a connection once in 1,986 times.
		if lost > 1 {
			t.Fatalf("%d of %d idle connections were lost", lost, len(idle))
		}
	}
}
