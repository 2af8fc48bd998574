package e2e

import (
	"bytes"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/packets"
)

var datagrams = flag.Int("datagrams", 2_000, "of TestKillLosesNoFragment for each form of the data plane")

// course is a way through the gateway: datagrams go in as fragments on a link, and come out at a socket, whose kernel
// has put them together.
type course struct {
	name     string
	from, to netip.AddrPort // of what goes in
	send     func(packets.Packet)
	came     <-chan []byte
}

// mailbox reads datagrams from a socket.
func mailbox(socket net.PacketConn) <-chan []byte {
	came := make(chan []byte, 64)
	go func() {
		buffer := make([]byte, 65536)
		for {
			n, _, err := socket.ReadFrom(buffer)
			if err != nil {
				return
			}
			came <- bytes.Clone(buffer[:n])
		}
	}()
	return came
}

// courses are opened by a host to a client outside, and by a client to a host by its name.
func (r *realm) courses(client netns.Node) []course {
	r.t.Helper()
	host := r.Hosts()[0]
	socket := func(at netns.Node, port int) (net.PacketConn, <-chan []byte) {
		s, err := at.ListenPacket("udp4", fmt.Sprintf("%s:%d", at.IP, port))
		if err != nil {
			r.t.Fatal(err)
		}
		r.t.Cleanup(func() { _ = s.Close() })
		return s, mailbox(s)
	}
	say := func(s net.PacketConn, to netip.AddrPort, came <-chan []byte) {
		if _, err := s.WriteTo([]byte("open"), net.UDPAddrFromAddrPort(to)); err != nil {
			r.t.Fatal(err)
		}
		select {
		case <-came:
		case <-time.After(5 * time.Second):
			r.t.Fatalf("nothing came to %s", to)
		}
	}
	inside, insideCame := socket(host, 5000)
	_, outsideCame := socket(client, 7000)
	service, serviceCame := socket(host, 7)
	asker, askerCame := socket(client, 7001)
	here, there := netip.AddrPortFrom(host.IP, 5000), netip.AddrPortFrom(client.IP, 7000)
	named, guest := netip.AddrPortFrom(r.mustLend(client, "echo."+hostName(0)), 7), netip.AddrPortFrom(client.IP, 7001)
	say(asker, named, serviceCame)
	say(service, guest, askerCame)
	say(inside, there, outsideCame)
	out := netip.AddrPortFrom(r.Gateway.Outbound, 5000) // the port is kept
	fromHost, fromClient := r.sender(host, r.gatewayMAC(r.Gateway.Private[0])), r.sender(client, r.gatewayMAC(r.Gateway.Public[0]))
	return []course{
		{"out", here, there, fromHost, outsideCame},
		{"in", there, out, fromClient, insideCame},
		{"by name", guest, named, fromClient, serviceCame},
		{"answers by name", netip.AddrPortFrom(host.IP, 7), guest, fromHost, askerCame},
	}
}

// pass sends a datagram in 2 to 8 fragments in any order, and waits for it.
func (c course) pass(r *rand.Rand, number int, patience time.Duration) error {
	size, count := 8*(3+r.IntN(180)), 2+r.IntN(7)
	payload := make([]byte, max(8, (count-1)*size+1+r.IntN(size)-8))
	for i := range payload {
		payload[i] = byte(r.Uint32())
	}
	binary.BigEndian.PutUint64(payload, uint64(number)) //nolint:gosec // counts from 0
	pieces := packets.NewUDP(c.from, c.to, string(payload)).Change(func(p *packets.Packet) {
		p.IPv4.DF, p.IPv4.ID = false, uint16(number) //nolint:gosec // goes round
	}).Fragments(size)
	r.Shuffle(len(pieces), func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })
	for _, p := range pieces {
		c.send(p)
	}
	for timeout := time.After(patience); ; {
		select {
		case got := <-c.came:
			if bytes.Equal(got, payload) {
				return nil
			}
		case <-timeout:
			return fmt.Errorf("%s: datagram %d in %d fragments did not come", c.name, number, len(pieces))
		}
	}
}

// What a daemon does meanwhile, while datagrams pass.
var killed = []string{"before", "while it is killed", "without a daemon", "while the next one adopts", "after"}

// A killed daemon loses no datagram in fragments, in whatever order they come: none before, during and after its death, and
// none while the next one adopts the data plane.
func TestKillLosesNoFragment(t *testing.T) {
	t.Parallel()
	for mode, change := range map[string]func(string) string{
		"tcx": func(c string) string { return c }, "xdp": func(c string) string { return atXDP(c, "eth0", "eth1") },
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
			d := r.start(change(r.configuration()))
			courses := r.courses(r.Clients[0])
			if got := d.interfaceOf("eth0"); got != mode+" true" {
				t.Errorf("eth0 is %s", got)
			}
			var phase, sent atomic.Int64
			var passed, lost [5]int
			var running sync.WaitGroup
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			running.Go(func() {
				random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test's choice
				for n := 0; ctx.Err() == nil; n++ {
					now := phase.Load()
					if err := courses[n%len(courses)].pass(random, n, 5*time.Second); err != nil {
						lost[now]++
						t.Errorf("%s: %v", killed[now], err)
					}
					passed[now]++
					sent.Add(1)
				}
			})
			third := func() {
				from := sent.Load()
				eventually(t, 10*time.Minute, "datagrams pass", func() bool { return sent.Load()-from >= int64(*datagrams/3) })
			}
			third()
			phase.Store(1)
			d.kill()
			phase.Store(2)
			third()
			phase.Store(3)
			d.run()
			phase.Store(4)
			third()
			cancel()
			running.Wait()
			if !d.status().Adopted {
				t.Error("nothing was adopted")
			}
			for i, what := range killed {
				t.Logf("%s: %d datagrams, %d lost", what, passed[i], lost[i])
			}
		})
	}
}
