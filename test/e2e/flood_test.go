package e2e

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/test/lab"
)

// flood sends SYNs to a port of each address, so many a second, from forged
// sources of 203.0.0.0/8, which answers do not reach, until the test ends. It
// returns how many it has sent.
func (r *realm) flood(from netns.Node, to []netip.Addr, port uint16, rate int) *atomic.Int64 {
	r.t.Helper()
	return r.floodOf(from, rate, func(gateway, source packets.MAC) (round [][]byte) {
		for _, address := range to {
			round = append(round, forgedSYN(gateway, source, netip.AddrPortFrom(address, port)))
		}
		return round
	})
}

// floodOf sends frames in so many rounds a second, from addresses in 203.0.0.0/8, until the test ends.
func (r *realm) floodOf(from netns.Node, rate int, of func(to, from packets.MAC) (round [][]byte)) *atomic.Int64 {
	r.t.Helper()
	r.command("router", "ip", "route", "add", "blackhole", "203.0.0.0/8")
	frames, err := from.Frames("eth0")
	if err != nil {
		r.t.Fatal(err)
	}
	source, err := from.MAC("eth0")
	if err != nil {
		r.t.Fatal(err)
	}
	gateway, err := r.Gateway.MAC(r.Gateway.Public[0])
	if err != nil {
		r.t.Fatal(err)
	}
	sent, stop := new(atomic.Int64), make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		began, round := time.Now(), 0
		for {
			select {
			case <-stop:
				return
			default:
			}
			time.Sleep(time.Until(began.Add(time.Duration(round) * time.Second / time.Duration(rate))))
			round++
			for _, frame := range of(packets.MAC(gateway), packets.MAC(source)) {
				if frames.Send(frame) == nil {
					sent.Add(1)
				}
			}
		}
	})
	r.t.Cleanup(func() {
		close(stop)
		running.Wait()
		_ = frames.Close()
	})
	return sent
}

func forgedSYN(to, from packets.MAC, address netip.AddrPort) []byte {
	var source [4]byte
	binary.BigEndian.PutUint32(source[:], 203<<24|rand.Uint32()>>8) //nolint:gosec // any will do
	return packets.Packet{
		Ethernet: packets.Ethernet{Destination: to, Source: from},
		IPv4:     &packets.IPv4{Source: netip.AddrFrom4(source), Destination: address.Addr(), TTL: 60},
		TCP: &packets.TCP{
			Source: uint16(1024 + rand.IntN(60000)), Destination: address.Port(), Sequence: rand.Uint32(), Flags: packets.SYN, Window: 64240, //nolint:gosec // any will do
			Options: []byte{2, 4, 5, 180},
		},
	}.Bytes()
}

// 100 forged SYNs a second to each address of the pool take no claim, and keep
// nobody away who asks and comes, near or far: every name is fetched.
func TestForgedSYNsKeepNobodyAway(t *testing.T) {
	const hosts, workers = 8, 8
	cycles := 100
	if lab.Lengthy() {
		cycles = 1000
	}
	r := newRealm(t, netns.Options{Hosts: hosts, Clients: 1})
	r.webServers()
	d := r.start(with(r.configuration(), "capacity: 1000000")) // the default, by which tentative sessions have their room
	var pool []netip.Addr
	for a := r.Gateway.Pool.Addr(); r.Gateway.Pool.Contains(a); a = a.Next() {
		pool = append(pool, a)
	}
	clients := map[string]netns.Node{"20 ms": r.faraway(1, 20*time.Millisecond), "100 ms": r.faraway(2, 100*time.Millisecond)}
	sent := r.flood(r.Clients[0], pool, 80, 100)
	eventually(t, 10*time.Second, "the flood has begun", func() bool { return sent.Load() > 1000 })
	for name, client := range clients {
		t.Run(name, func(t *testing.T) {
			began, before := time.Now(), sent.Load()
			var running sync.WaitGroup
			var next atomic.Int64
			for range workers {
				running.Go(func() {
					for i := next.Add(1); i <= int64(cycles); i = next.Add(1) {
						if err := cycle(r, client, int(i)); err != nil {
							t.Errorf("cycle %d: %v", i, err)
						}
					}
				})
			}
			running.Wait()
			took := time.Since(began)
			t.Logf("%d cycles in %s, under %.0f SYNs a second to each address", cycles, took.Round(time.Millisecond),
				float64(sent.Load()-before)/took.Seconds()/float64(len(pool)))
		})
	}
	if claimed := d.status().Claimed; claimed > uint64(len(clients)*cycles) {
		t.Errorf("%d answers were claimed in %d cycles", claimed, len(clients)*cycles)
	}
}

// cycle asks for a name over the long way, and fetches its page: of each host
// another client each time, which nobody knows.
func cycle(r *realm, from netns.Node, number int) error {
	const hosts = 8
	own, host := stranger(from, number/hosts), hostName(number%hosts)
	address, err := asks(r, from, own, "www."+host)
	if err != nil {
		return err
	}
	page, err := visitFrom(from, own, address, 80)
	if err == nil && page != host {
		err = fmt.Errorf("reached %q at %s instead of %s", page, address, host)
	}
	return err
}

// stranger is one of the addresses that a faraway client has for itself.
func stranger(of netns.Node, number int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 19, of.IP.As4()[2], byte(128 + number%128)}), 0)
}

// asks has the name server say where a name is, over TCP.
func asks(r *realm, from netns.Node, own netip.AddrPort, name string) (netip.Addr, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Second)
	defer cancel()
	connection, err := from.DialFrom(ctx, "tcp4", own, netip.AddrPortFrom(r.Gateway.PublicAddress, 53).String())
	if err != nil {
		return netip.Addr{}, err
	}
	defer connection.Close()
	client := dns.Client{Net: "tcp", Timeout: 8 * time.Second}
	answer, _, err := client.ExchangeWithConn(new(dns.Msg).SetQuestion(name, dns.TypeA), &dns.Conn{Conn: connection})
	if err != nil {
		return netip.Addr{}, err
	}
	address, err := netip.ParseAddr(first(answer))
	if err != nil {
		return netip.Addr{}, fmt.Errorf("no address for %s: %v", name, answer)
	}
	return address, nil
}
