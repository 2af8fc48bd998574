package e2e

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// merged is how many clients a resolver's answer lets in, as documented.
const merged = 16

// admitted is how many of the clients reach port 80, all at once.
func admitted(t *testing.T, clients []netns.Node, address netip.Addr, page string) int {
	t.Helper()
	var in atomic.Int64
	var running sync.WaitGroup
	for _, c := range clients {
		running.Go(func() {
			switch got, err := visit(c, address, 80); {
			case err != nil && !refused(err):
				t.Errorf("%s was neither let in nor refused: %v", c.IP, err)
			case err == nil && got != page:
				t.Errorf("%s reached %q", c.IP, got)
			case err == nil:
				in.Add(1)
			}
		})
	}
	running.Wait()
	return int(in.Load())
}

func refused(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "connection refused") || strings.Contains(err.Error(), "connection reset"))
}

// visit fetches a page without another process.
func visit(from netns.Node, address netip.Addr, port int) (string, error) {
	return visitFrom(from, netip.AddrPort{}, address, port)
}

// visitFrom is visit with a local address.
func visitFrom(from netns.Node, local netip.AddrPort, address netip.Addr, port int) (string, error) {
	return visitBy(from, local, address, port, 5*time.Second)
}

// visitWithin is visit with less patience.
func visitWithin(from netns.Node, address netip.Addr, port int, patience time.Duration) (string, error) {
	return visitBy(from, netip.AddrPort{}, address, port, patience)
}

func visitBy(from netns.Node, local netip.AddrPort, address netip.Addr, port int, patience time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	connection, err := from.DialFrom(ctx, "tcp4", local, fmt.Sprintf("%s:%d", address, port))
	if err != nil {
		return "", err
	}
	defer connection.Close()
	_ = connection.SetDeadline(time.Now().Add(patience))
	if _, err := fmt.Fprintf(connection, "GET / HTTP/1.0\r\n\r\n"); err != nil {
		return "", err
	}
	var text strings.Builder
	buffer := make([]byte, 4096)
	for {
		n, err := connection.Read(buffer)
		text.Write(buffer[:n])
		if err != nil {
			break
		}
	}
	_, body, whole := strings.Cut(text.String(), "\r\n\r\n")
	if !whole || body == "" {
		return "", fmt.Errorf("connection reset in %q", text.String())
	}
	return strings.TrimSpace(body), nil
}

// Beside somebody who asks for itself and comes nobody gets in who has not asked,
// however often it asks and comes.
func TestStrangersBesideADirectAsker(t *testing.T) {
	t.Parallel()
	const strangers, rounds = 6, 4
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1 + strangers})
	r.webServers()
	d := r.start(with(r.configuration(), "pool: {addresses: ["+r.Gateway.Pool.String()+"], reservation_timeout: 20s}"))
	for round := range rounds {
		address := r.mustLend(r.Clients[0], "www."+hostName(0))
		if page, err := visit(r.Clients[0], address, 80); err != nil || page != hostName(0) {
			t.Errorf("round %d: who asked: %q, %v", round, page, err)
		}
		if in := admitted(t, r.Clients[1:], address, hostName(0)); in > 0 {
			t.Fatalf("round %d: %d strangers of %d got in", round, in, strangers)
		}
	}
	if n := d.counted("drop_no_reservation"); n < strangers*rounds {
		t.Errorf("%d refusals were counted", n)
	}
}

// Behind a resolver's answer no more get in than the documented number.
func TestStrangersBesideAResolver(t *testing.T) {
	t.Parallel()
	const clients = merged + 6
	r := newRealm(t, netns.Options{Hosts: 1, Clients: clients, Resolver: true})
	r.webServers()
	r.start(r.configuration())
	address := r.mustLend(*r.Resolver, "www."+hostName(0))
	in := admitted(t, r.Clients, address, hostName(0))
	t.Logf("%d of %d got in", in, clients)
	if in > merged || in == 0 {
		t.Errorf("%d of %d got in, %d may", in, clients, merged)
	}
}

// What may open nothing is told so at once, but not who is banned, and nobody
// where the configuration says so.
func TestStrangersAreRefusedAtOnce(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 2, Clients: 3})
	r.webServers()
	r.echoServers()
	d := r.start(r.configuration())
	client, stranger, banned := r.Clients[0], r.Clients[1], r.Clients[2]
	address, free := r.mustLend(client, "www."+hostName(0)), r.unbound(d)
	if page, err := visit(client, address, 80); err != nil || page != hostName(0) {
		t.Fatalf("who asked: %q, %v", page, err)
	}
	tried := func(from netns.Node, to netip.Addr, port int, network string) (time.Duration, error) {
		began := time.Now()
		if network == "udp" {
			_, err := echo(from, netip.AddrPort{}, netip.AddrPortFrom(to, uint16(port)))
			return time.Since(began), err
		}
		err := connects(from, netip.AddrPortFrom(to, uint16(port)))
		return time.Since(began), err
	}
	all := []struct {
		what    string
		from    netns.Node
		to      netip.Addr
		port    int
		network string
	}{
		{"a port that is not opened", client, address, 81, "tcp"}, {"443 of who has 80", client, address, 443, "tcp"},
		{"the host's own port", client, address, 8080, "tcp"}, {"a UDP port that is not opened", client, address, 9, "udp"},
		{"a stranger", stranger, address, 80, "tcp"}, {"a stranger by UDP", stranger, address, 7, "udp"},
		{"an address of nobody", stranger, free, 80, "tcp"}, {"an address of nobody by UDP", stranger, free, 7, "udp"},
		{"a host inside", r.Hosts()[1], address, 81, "tcp"}, {"a host inside by UDP", r.Hosts()[1], address, 9, "udp"},
	}
	for _, c := range all {
		if took, err := tried(c.from, c.to, c.port, c.network); !refused(err) || took > 2*time.Second {
			t.Errorf("%s: %v after %s", c.what, err, took.Round(time.Millisecond))
		}
	}
	if got := complaint(t, stranger, netip.AddrPort{}, netip.AddrPortFrom(address, 7), 64); got != "3/3 from "+address.String() {
		t.Errorf("a stranger by UDP hears %q", got)
	}
	out, err := client.Command(t.Context(), "curl", "-sS", "--max-time", "5", fmt.Sprintf("http://%s:81/", address)).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "refused") && !strings.Contains(string(out), "Couldn't connect") {
		t.Errorf("curl: %v: %s", err, out)
	}
	if out, err := d.tell("ban", "add", banned.IP.String()); err != nil {
		t.Fatal(out)
	}
	for _, network := range []string{"tcp", "udp"} {
		if _, err := tried(banned, address, 80, network); err == nil || refused(err) {
			t.Errorf("who is banned hears by %s: %v", network, err)
		}
	}
	d.write(with(r.configuration(), "pool: {addresses: ["+r.Gateway.Pool.String()+"], refuse: false}"))
	if out, err := d.tell("reload"); err != nil {
		t.Fatal(out)
	}
	for _, network := range []string{"tcp", "udp"} {
		if _, err := tried(stranger, address, 81, network); err == nil || refused(err) {
			t.Errorf("with refuse: false a stranger hears by %s: %v", network, err)
		}
	}
}

// unbound is an address of the pool that no service has.
func (r *realm) unbound(d *daemon) netip.Addr {
	taken := map[netip.Addr]bool{}
	for _, a := range d.places() {
		taken[a] = true
	}
	a := r.Gateway.Pool.Addr()
	for taken[a] {
		a = a.Next()
	}
	return a
}
