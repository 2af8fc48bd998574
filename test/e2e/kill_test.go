package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// A killed daemon loses no session: transfers both ways, through NAT and from
// the pool, go on over its death and while the next daemon adopts them.
func TestKillLosesNoTransfer(t *testing.T) {
	r := newRealm(t, netns.Options{Hosts: 1, Servers: 1, Clients: 1})
	host, server, client := r.Hosts()[0], r.Servers[0], r.Clients[0]
	iperfServer(t, server, 5201)
	iperfServer(t, server, 5202)
	iperfServer(t, host, 5201)
	d := r.start(r.configuration())
	pool := r.mustLend(client, "perf."+hostName(0))
	type result struct {
		what string
		transfer
		error
	}
	results := make(chan result, 3)
	var ended atomic.Int32
	run := func(what string, from netns.Node, to netip.Addr, port int, flags ...string) {
		done, err := iperf(from, to, port, append(flags, "-t", "6", "-b", "40M")...)
		ended.Add(1)
		results <- result{what, done, err}
	}
	go run("from inside, sending", host, server.IP, 5201)
	go run("from inside, receiving", host, server.IP, 5202, "-R")
	go run("from outside, by the pool", client, pool, 5201)
	established := func() int {
		n := 0
		for _, s := range d.sessions("--protocol", "tcp") {
			if s.State == "established" {
				n++
			}
		}
		return n
	}
	eventually(t, 5*time.Second, "three transfers, two connections each", func() bool { return established() == 6 })
	d.kill()
	d.run()
	if n := established(); !d.status().Adopted || n != 6 {
		t.Errorf("adopted: %v, with %d of 6 sessions", d.status().Adopted, n)
	}
	if ended.Load() > 0 {
		t.Error("a transfer was over before the next daemon served: the test shows nothing")
	}
	for range 3 {
		done := <-results
		if done.error != nil {
			t.Errorf("%s: %v", done.what, done.error)
		}
		if done.End.Received.Bytes == 0 || done.stall() > 2*time.Second {
			t.Errorf("%s: %v octets, stood still for %s", done.what, done.End.Received.Bytes, done.stall())
		}
	}
}

// echoAddress is the address and port of an echo service on a pool address.
func echoAddress(address netip.Addr) netip.AddrPort { return netip.AddrPortFrom(address, 7) }

// What was lent before a kill is nobody else's after it: an answer that can still
// be claimed, a binding with a client, and one whose answer nobody used and that
// rests.
func TestKillLendsNothingTwice(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 5, RemoteClients: 5})
	r.echoServers()
	d := r.start(with(r.configuration(),
		"pool: {addresses: [198.18.0.32/30], reservation_timeout: 5s, rest: 40s}"))
	name := func(i int) string { return "echo." + hostName(i) }
	clients := r.RemoteClients // each of another network: what one leaves unused is counted
	held, unused := r.mustLend(clients[0], name(0)), r.mustLend(clients[1], name(1))
	r.becomeKnown(clients[0], echoAddress(held), hostName(0))
	eventually(t, 15*time.Second, "the unused reservation has expired", func() bool { return d.status().Expired == 1 })
	never, open := d.at(name(3)), r.mustLend(clients[2], name(2))
	d.kill()
	d.run()
	if who, err := echo(clients[2], netip.AddrPort{}, echoAddress(open)); err != nil || who != hostName(2) {
		t.Errorf("the reservation answered before the kill reached %q: %v", who, err)
	}
	// The one place whose address nobody was given is free, and nobody's any more then.
	if address := r.mustLend(clients[4], name(4)); address != never {
		t.Errorf("%s was lent to %s: %s has a client, %s rests, %s was claimed just now", address, name(4), held, unused, open)
	}
	if address, err := lent(clients[3], r.Gateway, name(3)); err == nil {
		t.Errorf("%s was lent to %s", address, name(3))
	}
	// Who claimed may open more, and who rests keeps its own.
	if who, err := echo(clients[0], netip.AddrPort{}, echoAddress(held)); err != nil || who != hostName(0) {
		t.Errorf("the held address reached %q: %v", who, err)
	}
	if again := r.mustLend(clients[1], name(1)); again != unused {
		t.Errorf("%s got %s, though its own address is %s", name(1), again, unused)
	}
	if !d.status().Adopted {
		t.Error("nothing was adopted")
	}
}

// becomeKnown makes somebody who has an answer a known client of a UDP service.
func (r *realm) becomeKnown(from netns.Node, to netip.AddrPort, who string) {
	r.t.Helper()
	connection, err := from.DialContext(context.Background(), "udp4", to.String())
	if err != nil {
		r.t.Fatal(err)
	}
	defer connection.Close()
	for range 2 { // its host must have answered, and it have come again
		if got, err := echoOn(connection); err != nil || got != who {
			r.t.Fatalf("%s reached %q at %s: %v", from.IP, got, to, err)
		}
	}
}

// Kills while clients ask and claim all the time: whatever is answered reaches
// the host that was asked for, or nobody.
func TestKillsMisleadNobody(t *testing.T) {
	t.Parallel()
	const hosts, workers, kills = 12, 4, 4
	r := newRealm(t, netns.Options{Hosts: hosts, Clients: workers})
	r.echoServers()
	d := r.start(with(r.configuration(), "pool: {addresses: [198.18.0.32/29], reservation_timeout: 1s, rest: 1s}"))
	stop := make(chan struct{})
	var running sync.WaitGroup
	var right, silent atomic.Int64
	for worker := range workers {
		running.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				wanted := hostName(rand.IntN(hosts)) //nolint:gosec // a test's choice
				address, err := lent(r.Clients[worker], r.Gateway, "echo."+wanted)
				if err != nil {
					continue // no daemon, or no address free
				}
				switch who, err := echo(r.Clients[worker], netip.AddrPort{}, echoAddress(address)); {
				case err != nil:
					silent.Add(1)
				case who != wanted:
					t.Errorf("asked for %s at %s and reached %s", wanted, address, who)
				default:
					right.Add(1)
				}
			}
		})
	}
	for range kills {
		before := right.Load()
		eventually(t, 10*time.Second, "50 more answers", func() bool { return right.Load() > before+50 })
		d.kill()
		d.run()
	}
	close(stop)
	running.Wait()
	t.Logf("%d reached their hosts, %d were not answered", right.Load(), silent.Load())
	if silent.Load() > right.Load()/10 {
		t.Errorf("%d of %d were not answered", silent.Load(), right.Load()+silent.Load())
	}
}

// A daemon started by "ip netns exec" has a mount namespace of its own, which
// dies with it: its pins must not.
func TestKillUnderIPNetnsExec(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Servers: 1})
	echoServer(t, r.Servers[0], 7, "server")
	d := r.prepare(r.Gateway, r.ID(), r.configuration())
	// Any namespace will do to start ip from.
	d.launch(r.Router.Command(context.Background(), "ip", "netns", "exec", r.Gateway.Name(), program,
		"run", "-c", d.config, "--instance", d.instance))
	server := netip.AddrPortFrom(r.Servers[0].IP, 7)
	connection, err := r.Hosts()[0].DialContext(context.Background(), "udp4", server.String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if _, err := echoOn(connection); err != nil {
		t.Fatal(err)
	}
	before := fmt.Sprint(d.sessions()[0].External)
	d.kill()
	if _, err := echoOn(connection); err != nil {
		t.Errorf("with no daemon: %v", err)
	}
	d.run()
	if _, err := echoOn(connection); err != nil {
		t.Errorf("with the next daemon: %v", err)
	}
	sessions := d.sessions()
	if !d.status().Adopted || len(sessions) != 1 || fmt.Sprint(sessions[0].External) != before {
		t.Errorf("adopted %v, sessions %v, before by %s", d.status().Adopted, sessions, before)
	}
}
