package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/packets"
)

// onslaught sends frames from a node's eth0, so many a second or as many as it can, one after
// the other and round, until stop is called.
func (r *realm) onslaught(from netns.Node, rate int, frames [][]byte) (sent *atomic.Int64, stop func()) {
	r.t.Helper()
	socket, err := from.Frames("eth0")
	if err != nil {
		r.t.Fatal(err)
	}
	sent, end := new(atomic.Int64), make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for began := time.Now(); ; {
			select {
			case <-end:
				return
			default:
			}
			due := int64(time.Since(began).Seconds() * float64(rate))
			if sent.Load() >= due {
				time.Sleep(time.Millisecond)
			}
			for n := sent.Load(); n < due && n%256 != 255; n++ { // and look whether it is the end
				_ = socket.Send(frames[n%int64(len(frames))]) // a full queue loses what it loses
				sent.Add(1)
			}
			if n := sent.Load(); n < due {
				_ = socket.Send(frames[n%int64(len(frames))])
				sent.Add(1)
			}
		}
	})
	return sent, sync.OnceFunc(func() { close(end); running.Wait(); _ = socket.Close() })
}

// frames makes n frames from a node to an interface of the gateway.
func (r *realm) frames(from netns.Node, to string, n int, packet func(i int) packets.Packet) [][]byte {
	r.t.Helper()
	source, err := from.MAC("eth0")
	if err != nil {
		r.t.Fatal(err)
	}
	destination, list := r.gatewayMAC(to), make([][]byte, n)
	for i := range list {
		list[i] = packet(i).Between(packets.MAC(source), destination).Bytes()
	}
	return list
}

func anyPort() uint16 { return uint16(1024 + rand.IntN(64_000)) } //nolint:gosec // any will do

// attack is one of the field report's: how fast it was there, how many packets it took, and what status says to do.
type attack struct {
	from   netns.Node
	rate   int
	took   int64
	stops  string
	frames [][]byte
}

// TestNobodyTakesItAll repeats the attacks A1, A3 and A5 of the field report, at its rates and at ten times them, or as
// fast as one core sends: whoever else is there gets in and out, 99 times of 100 at least.
func TestNobodyTakesItAll(t *testing.T) {
	const different = 100_000
	r := newRealm(t, netns.Options{Hosts: 3, Clients: 2})
	r.webServers()
	r.command("router", "ip", "route", "add", "blackhole", "203.0.0.0/8")
	webServer(t, r.Clients[0], 8080, "attacker")
	webServer(t, r.Clients[1], 8080, "outside")
	stranger, wild := r.Clients[0], r.Gateway.Hosts[2]
	private, public := r.Gateway.Private[0], r.Gateway.Public[0]
	open := strings.Replace(hostEntry(2, wild.IP), "open: [icmp]", "open: all", 1)
	d := r.start(with(strings.Replace(r.configuration(), hostEntry(2, wild.IP), open, 1), "capacity: 1000000"))
	remote := netip.MustParseAddr("203.0.113.10")
	ban, end := "realmgate ban add "+stranger.IP.String(), "realmgate sessions end --address "+wild.IP.String()
	for name, prepare := range map[string]func(t *testing.T) attack{
		"A1, one outsider": func(t *testing.T) attack {
			// Who has attacked just now is refused for a moment.
			var to netip.Addr
			known := func() bool {
				var err error
				if to, err = lent(stranger, r.Gateway, hostName(2)); err != nil {
					return false
				}
				_, err = visitWithin(stranger, to, 8080, 8*time.Second)
				return err == nil
			}
			eventually(t, time.Minute, "the attacker makes itself known", known)
			frames := r.frames(stranger, public, different, func(int) packets.Packet {
				return packets.NewUDP(netip.AddrPortFrom(stranger.IP, anyPort()), netip.AddrPortFrom(to, anyPort()), "x")
			})
			return attack{stranger, 47_000, 1_600_000, ban, frames}
		},
		"A3, ports of one host": func(t *testing.T) attack {
			return attack{wild, 20_000, 64_512, end, r.frames(wild, private, 64_512, func(i int) packets.Packet {
				return packets.NewTCP(netip.AddrPortFrom(wild.IP, uint16(1024+i)), netip.AddrPortFrom(remote, 80), packets.SYN, "")
			})}
		},
		"A3, sessions of one host": func(t *testing.T) attack {
			return attack{wild, 106_000, 1_100_000, end, r.frames(wild, private, 10*different, func(i int) packets.Packet {
				to := netip.AddrFrom4([4]byte{203, byte(i >> 16), byte(i >> 8), byte(i)})
				return packets.NewUDP(netip.AddrPortFrom(wild.IP, 5000), netip.AddrPortFrom(to, anyPort()), "x")
			})}
		},
		"A5, a server that is visited": func(t *testing.T) attack {
			var visit net.Conn
			eventually(t, time.Minute, "the host, which may have attacked just now, gets out again", func() bool {
				var err error
				visit, err = wild.DialContext(context.Background(), "tcp4", netip.AddrPortFrom(stranger.IP, 8080).String())
				return err == nil
			})
			t.Cleanup(func() { _ = visit.Close() })
			port := visit.LocalAddr().(*net.TCPAddr).AddrPort().Port() // it is kept
			return attack{stranger, 45_000, 65_000, ban, r.frames(stranger, public, 64_512, func(i int) packets.Packet {
				return packets.NewTCP(netip.AddrPortFrom(stranger.IP, uint16(1024+i)), netip.AddrPortFrom(r.Gateway.Outbound, port), packets.SYN, "")
			})}
		},
	} {
		for _, times := range []int{1, 10} {
			t.Run(fmt.Sprintf("%s, %d times", name, times), func(t *testing.T) {
				if out, err := d.tell("sessions", "end", "--all"); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				a := prepare(t)
				began := time.Now()
				sent, stop := r.onslaught(a.from, times*a.rate, a.frames)
				defer stop()
				// Nobody else tries before the attack has come to what it came to there.
				eventually(t, 2*time.Minute, "the attack has come so far", func() bool { return sent.Load() > a.took })
				r.bystanders(t)
				rate := float64(sent.Load()) / time.Since(began).Seconds()
				eventually(t, 10*time.Second, "status names who it is: "+a.stops, func() bool {
					return strings.Contains(strings.Join(d.status().Warnings, "\n")+"\n", a.stops+"\n")
				})
				stop()
				t.Logf("%.0f packets a second of %d that were wanted; %d sessions", rate, times*a.rate, d.status().Sessions.Used)
			})
		}
	}
	t.Logf("ended: %v", d.status().Reasons)
}

// bystanders try 100 times to get out, and to get in by name: 99 have to.
func (r *realm) bystanders(t *testing.T) {
	t.Helper()
	const tries, workers = 100, 4
	host, client := r.Gateway.Hosts[0], r.Clients[1]
	ways := map[string]func() (string, error){
		"out": func() (string, error) { return visitWithin(host, client.IP, 8080, 8*time.Second) },
		"in": func() (string, error) {
			address, err := lent(client, r.Gateway, "www."+hostName(0))
			if err != nil {
				return "", err
			}
			return visitWithin(client, address, 80, 8*time.Second)
		},
	}
	for way, try := range ways {
		var running sync.WaitGroup
		var next, failed atomic.Int64
		for range workers {
			running.Go(func() {
				for next.Add(1) <= tries {
					if _, err := try(); err != nil && failed.Add(1) < 4 {
						t.Logf("%s: %v", way, err)
					}
				}
			})
		}
		running.Wait()
		if n := failed.Load(); n > tries/100 {
			t.Errorf("%d of %d did not get %s", n, tries, way)
		}
		t.Logf("%d of %d got %s", tries-failed.Load(), tries, way)
	}
}
