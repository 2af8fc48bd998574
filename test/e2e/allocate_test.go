package e2e

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/test/lab"
)

const (
	allocateHosts = 4
	allocatePorts = 64
	firstPort     = 1000
	// Requesters are a resolver's addresses: the load's, one a worker, and
	// those that only leave reservations standing.
	loadNetwork, standingNetwork = 1, 2
)

// allocation measures name → address → first packet: its own client asks over
// UDP, sends the first packet from an endpoint that nobody has used, and takes
// the time when it arrives at the host.
type allocation struct {
	realm    *realm
	daemon   *daemon
	started  time.Time
	arrived  []atomic.Int64 // when each first packet came, ns since started
	arrivals atomic.Int64
}

// requester is the address of a client in one of the two networks of clients.
func requester(network, number int) netip.Addr {
	return netip.AddrFrom4([4]byte{198, 19, byte(network), byte(number)})
}

func serviceName(n int) string {
	return fmt.Sprintf("s%d.host%d.foo.example.", n%allocatePorts, n/allocatePorts%allocateHosts+1)
}

// newAllocation lays the realm, with 256 pool addresses and 64 service ports on
// each host, quotas off.
func newAllocation(b *testing.B) *allocation {
	b.Helper()
	r := &realm{t: nil, directory: b.TempDir(), Realm: lab.NewRealm(b, netns.Options{
		Prefix: "bench", Hosts: allocateHosts, Clients: 1})}
	a := &allocation{realm: r, started: time.Now(), arrived: make([]atomic.Int64, 1<<20)}
	client := r.Clients[0]
	for _, arguments := range [][]string{
		{"router", "ip", "route", "add", "198.18.2.0/24", "via", r.Gateway.PublicAddress.String()},
		{"router", "ip", "route", "add", "198.19.0.0/16", "via", client.IP.String()},
		{"client1", "ip", "route", "add", "local", "198.19.0.0/16", "dev", "lo"},
	} {
		arguments = append([]string{"netns", "exec", r.ID() + "-" + arguments[0]}, arguments[1:]...)
		if out, err := exec.Command("ip", arguments...).CombinedOutput(); err != nil { //nolint:gosec // our own words
			b.Fatalf("ip %v: %v: %s", arguments, err, out)
		}
	}
	a.daemon = &daemon{gateway: r.Gateway, instance: r.ID(), config: filepath.Join(r.directory, "realmgate.yaml")}
	if err := os.WriteFile(a.daemon.config, []byte(allocateConfiguration(r.Gateway)), 0o600); err != nil {
		b.Fatal(err)
	}
	a.daemon.command = r.Gateway.Command(context.Background(), program, "run", "-c", a.daemon.config, "--instance", r.ID())
	a.daemon.command.Stderr = os.Stderr
	if testing.Verbose() {
		a.daemon.command.Args = append(a.daemon.command.Args, "--log-level", "warn")
	}
	if err := a.daemon.command.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		a.daemon.stop()
		a.daemon.removeTraces()
	})
	eventually(b, 20*time.Second, "the daemon serves", func() bool {
		_, err := a.daemon.tell("status")
		return err == nil
	})
	a.listen(b)
	return a
}

func allocateConfiguration(g *netns.Gateway) string {
	var hosts strings.Builder
	for i, h := range g.Hosts {
		fmt.Fprintf(&hosts, "  - name: %s\n    address: %s\n    services:\n", hostName(i), h.IP)
		for port := range allocatePorts {
			fmt.Fprintf(&hosts, "      - {name: s%d.%s, protocol: udp, port: %d}\n", port, hostName(i), firstPort+port)
		}
	}
	configuration := with(configurationOf(g),
		`dns: {public: "198.18.0.1:53", private: "10.0.0.1:53", verify: none}`,
		"pool: {addresses: [198.18.2.0/24], reservation_timeout: 60s, rest: 1s, "+
			"quotas: {client: 0, resolver: 0, host: 0, service: 0, total: 0, half_open: 0, half_open_per_host: 0}}",
		"capacity: 2200000", "timeouts: {udp: 5s}")
	before, _, _ := strings.Cut(configuration, "hosts:\n")
	return before + "hosts:\n" + hosts.String()
}

// listen opens every service of every host; a first packet carries its number.
func (a *allocation) listen(b *testing.B) {
	b.Helper()
	for _, host := range a.realm.Hosts() {
		for port := range allocatePorts {
			socket, err := host.ListenPacket("udp4", fmt.Sprintf("%s:%d", host.IP, firstPort+port))
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = socket.Close() })
			go func() {
				buffer := make([]byte, 64)
				for {
					n, _, err := socket.(*net.UDPConn).ReadFromUDPAddrPort(buffer)
					if err != nil {
						return
					}
					if n >= 8 {
						number := binary.BigEndian.Uint64(buffer)
						a.arrived[number%uint64(len(a.arrived))].Store(int64(time.Since(a.started)))
						a.arrivals.Add(1)
					}
				}
			}()
		}
	}
}

// stand leaves about so many reservations standing.
func (a *allocation) stand(b *testing.B, reservations int) {
	b.Helper()
	const names = allocateHosts * allocatePorts
	for made := 0; made < reservations; made += names {
		k := a.asker(b, requester(standingNetwork, made/names+1))
		for n := range names {
			if _, ok, err := k.ask(serviceName(n)); err != nil || !ok {
				b.Fatalf("standing reservation %d: lent %v, %v", made+n, ok, err)
			}
		}
	}
}

// run makes b.N allocations by workers that each do one after the other, at
// rate in all per second (0: as fast as they can), and reports how they went.
func (a *allocation) run(b *testing.B, workers, rate int) {
	b.Helper()
	type task struct {
		*asker
		*firstPackets
	}
	tasks := make([]task, workers)
	for w := range tasks {
		tasks[w] = task{a.asker(b, requester(loadNetwork, w+1)), a.firstPackets(b)}
	}
	sent := make([]int64, b.N)
	base := uint64(time.Since(a.started)) >> 10 & 0xfff << 17 // runs differ in their sources
	for i := range a.arrived {
		a.arrived[i].Store(0)
	}
	var next, failed atomic.Int64
	var running sync.WaitGroup
	b.ResetTimer()
	began := time.Now()
	for w := range tasks {
		running.Go(func() {
			t := tasks[w]
			for {
				i := next.Add(1) - 1
				if i >= int64(b.N) {
					return
				}
				if rate > 0 {
					time.Sleep(time.Until(began.Add(time.Duration(i) * time.Second / time.Duration(rate))))
				}
				n := int(i) % (allocateHosts * allocatePorts)
				sent[i] = int64(time.Since(a.started))
				address, ok, err := t.ask(serviceName(n))
				if err == nil && ok {
					err = t.send(base+uint64(i), address, firstPort+uint16(n%allocatePorts))
				}
				if err != nil || !ok {
					failed.Add(1)
				}
			}
		})
	}
	running.Wait()
	took := time.Since(began)
	a.settle(b.N)
	b.StopTimer()
	a.report(b, base, sent, took, int(failed.Load()))
}

// settle waits for the last packets on their way.
func (a *allocation) settle(n int) {
	deadline := time.Now().Add(200 * time.Millisecond)
	for a.arrivals.Load() < int64(n) && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	a.arrivals.Store(0)
}

func (a *allocation) report(b *testing.B, base uint64, sent []int64, took time.Duration, failed int) {
	b.Helper()
	var delays []int64
	for i, at := range sent {
		if arrived := a.arrived[(base+uint64(i))%uint64(len(a.arrived))].Load(); arrived > at {
			delays = append(delays, arrived-at)
		}
	}
	if len(delays) == 0 {
		b.Fatalf("no first packet arrived; %d of %d were not lent an address", failed, len(sent))
	}
	slices.Sort(delays)
	at := func(share float64) float64 { return float64(delays[int(share*float64(len(delays)-1))]) / 1e3 }
	b.ReportMetric(float64(len(delays))/took.Seconds(), "allocations/s")
	b.ReportMetric(at(0.5), "p50-µs")
	b.ReportMetric(at(0.99), "p99-µs")
	b.ReportMetric(100*float64(len(sent)-len(delays))/float64(len(sent)), "%lost")
	b.ReportMetric(0, "ns/op")
}
