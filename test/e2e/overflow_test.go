package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/test/lab"
)

// speaksFirst says its name to whoever connects, before that has said anything, as servers of mail and SSH do.
func speaksFirst(t *testing.T, at netns.Node, port int, name string) {
	t.Helper()
	accepts(t, at, port, func(c net.Conn) {
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		_, _ = io.WriteString(c, name)
	})
}

// heard connects to an address and hears who greets.
func heard(from netns.Node, own netip.AddrPort, address netip.Addr) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	c, err := from.DialFrom(ctx, "tcp4", own, netip.AddrPortFrom(address, 80).String())
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	text, err := io.ReadAll(c)
	return string(text), err
}

// calls are how long set-ups took, from the SYN to the first octets of the host; by who speaks first.
type calls struct {
	mutex          sync.Mutex
	server, client []time.Duration
	failed         []error
}

func (c *calls) String() string {
	return fmt.Sprintf("%d of %d failed; server first %s, client first %s", len(c.failed), len(c.failed)+len(c.server)+len(c.client),
		typical(c.server), typical(c.client))
}

func typical(list []time.Duration) string {
	if len(list) == 0 {
		return "never"
	}
	slices.Sort(list)
	return fmt.Sprintf("median %s, 99th percentile %s", list[len(list)/2].Round(10*time.Microsecond), list[len(list)*99/100].Round(10*time.Microsecond))
}

// call asks for a name and goes there. The upper half of the hosts greets.
func (c *calls) call(r *realm, from netns.Node, number int) {
	hosts := len(r.Hosts())
	own, host := stranger(from, number/hosts), number%hosts
	address, err := asks(r, from, own, "www."+hostName(host))
	began, who, list := time.Now(), "", &c.client
	if err == nil {
		began = time.Now()
		if host >= hosts/2 {
			list = &c.server
			who, err = heard(from, own, address)
		} else {
			who, err = visitFrom(from, own, address, 80)
		}
	}
	took := time.Since(began)
	if err == nil && who != hostName(host) {
		err = fmt.Errorf("reached %q at %s instead of %s", who, address, hostName(host))
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if err != nil {
		r.t.Logf("after %s: %d: %v", took.Round(time.Millisecond), number, err)
		c.failed = append(c.failed, fmt.Errorf("%d: %w", number, err))
		return
	}
	*list = append(*list, took)
}

// all has several callers call so many times.
func (r *realm) all(client netns.Node, cycles int) *calls {
	const callers = 4
	var running sync.WaitGroup
	var next atomic.Int64
	c := &calls{}
	for range callers {
		running.Go(func() {
			for i := next.Add(1); i <= int64(cycles); i = next.Add(1) {
				c.call(r, client, int(i))
			}
		})
	}
	running.Wait()
	return c
}

// 10,000 forged SYNs a second to each address of the pool, of which the data plane keeps no more than it has room for: whoever
// asks for a name and goes there gets in, whether its host speaks first or it does.
func TestFloodedPoolAnswersByCookies(t *testing.T) {
	cycles := 200
	if lab.Lengthy() {
		cycles = 1000
	}
	for mode, at := range map[string]func(string) string{
		"tcx": func(c string) string { return c }, "xdp": func(c string) string { return atXDP(c, "eth0", "eth1") },
	} {
		t.Run(mode, func(t *testing.T) { floodedPool(t, at, cycles, 80) })
		if lab.Lengthy() { // how much of what it costs is the machine's: these are dropped
			t.Run(mode+", nobody's port", func(t *testing.T) { floodedPool(t, at, cycles, 81) })
		}
	}
}

func floodedPool(t *testing.T, at func(string) string, cycles int, port uint16) {
	const hosts, rate = 4, 10_000
	r := newRealm(t, netns.Options{Hosts: hosts, Clients: 1})
	for i, h := range r.Hosts() {
		if i < hosts/2 {
			webServer(t, h, 8080, hostName(i))
		} else {
			speaksFirst(t, h, 8080, hostName(i))
		}
	}
	few := netip.PrefixFrom(r.Gateway.Pool.Addr(), 30)
	d := r.start(at(with(with(r.configuration(), "capacity: 1000000"),
		"pool: {addresses: ["+few.String()+"], quotas: {client: 0, resolver: 0, host: 0, service: 0}}")))
	client := r.faraway(1, time.Millisecond)
	quiet := r.all(client, cycles)
	t.Logf("without a flood: %s", quiet)
	if len(quiet.failed) > 0 {
		t.Fatal(errors.Join(quiet.failed...))
	}
	var pool []netip.Addr
	for a := few.Addr(); few.Contains(a); a = a.Next() {
		pool = append(pool, a)
	}
	sent := r.flood(r.Clients[0], pool, port, rate)
	eventually(t, 10*time.Second, "it floods", func() bool { return sent.Load() > rate })
	began, before := time.Now(), sent.Load()
	flooded := r.all(client, cycles)
	took := time.Since(began)
	t.Logf("%d calls in %s, under %.0f SYNs a second to each address, %d answered by cookies: %s", cycles, took.Round(time.Millisecond),
		float64(sent.Load()-before)/took.Seconds()/float64(len(pool)), d.status().Overflowed, flooded)
	if len(flooded.failed) > cycles/100 {
		t.Error(errors.Join(flooded.failed...))
	}
	by := 0
	for _, s := range d.sessions() {
		if s.Origin == "cookie" {
			by++
		}
	}
	if (by > 0) != (port == 80) {
		t.Errorf("%d sessions were opened by cookies", by)
	}
	if claimed := d.status().Claimed; claimed > uint64(2*cycles) { //nolint:gosec // a count
		t.Errorf("%d answers were claimed in %d calls", claimed, 2*cycles)
	}
}
