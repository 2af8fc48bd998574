package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/test/lab"
)

// webRequest asks for a page of a host by name.
func webRequest(host int) string {
	return "GET / HTTP/1.1\r\nHost: www." + strings.TrimSuffix(hostName(host), ".") + "\r\nConnection: close\r\n\r\n"
}

// visits opens a connection to the web address and says something.
func visits(from netns.Node, text string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	c, err := from.DialContext(ctx, "tcp4", netip.AddrPortFrom(webAddress, 80).String())
	if err == nil {
		_, err = io.WriteString(c, text)
	}
	return c, err
}

// trickle answers each connection with lines, one each tenth of a second, and ends it.
func trickle(t *testing.T, at netns.Node, lines int) {
	t.Helper()
	accepts(t, at, 8080, func(c net.Conn) {
		defer c.Close()
		if _, err := c.Read(make([]byte, 1024)); err != nil {
			return
		}
		for i := range lines {
			if _, err := fmt.Fprintf(c, "line %06d\n", i); err != nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
}

// Downloads by name do not end with the daemon, and who comes while it is away is served when it is back, or told after ten
// seconds that nobody is there.
func TestWebWithoutDaemon(t *testing.T) {
	t.Parallel()
	downloads, lines := 100, 60
	if lab.Lengthy() {
		downloads, lines = 1000, 300
	}
	r := newRealm(t, netns.Options{Hosts: 2, Clients: 2})
	trickle(t, r.Hosts()[0], lines)
	webServer(t, r.Hosts()[1], 8080, hostName(1))
	d := r.start(with(r.configuration(), "web: {addresses: ["+webAddress.String()+"]}"))
	var whole strings.Builder
	for i := range lines {
		fmt.Fprintf(&whole, "line %06d\n", i)
	}
	var running sync.WaitGroup
	for range downloads {
		c, err := visits(r.Clients[0], webRequest(0))
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(2 * time.Minute))
			got, err := io.ReadAll(c)
			if err != nil || string(got) != whole.String() {
				t.Errorf("a download ended after %d of %d octets: %v", len(got), whole.Len(), err)
			}
		})
	}
	opened := func() int {
		n := 0
		for _, s := range d.sessions("--protocol", "tcp") {
			if s.Origin == "web" && s.State == "established" {
				n++
			}
		}
		return n
	}
	eventually(t, 30*time.Second, "all are sessions", func() bool { return opened() == downloads })
	d.kill()
	c, err := visits(r.Clients[1], webRequest(1))
	if err != nil {
		t.Fatalf("while the daemon is away: %v", err)
	}
	d.run()
	began := time.Now()
	_ = c.SetDeadline(began.Add(20 * time.Second))
	if page, err := io.ReadAll(c); err != nil || !strings.Contains(string(page), hostName(1)) {
		t.Errorf("who came while the daemon was away: %q, %v", page, err)
	}
	t.Logf("served %s after the daemon was back", time.Since(began).Round(time.Millisecond))
	running.Wait()
	if s := d.sessions("--protocol", "tcp"); len(s) < downloads {
		t.Errorf("%d sessions are left of %d", len(s), downloads)
	}
	d.kill()
	eventually(t, 20*time.Second, "whoever comes is refused", func() bool {
		_, err := visits(r.Clients[1], "")
		return err != nil && strings.Contains(err.Error(), "refused")
	})
	d.run()
	if _, err := fetchByName(r.Clients[1], "www."+hostName(1)); err != nil {
		t.Error(err)
	}
}

// Who begins connections and says half of what it wants takes the places of nobody else, and is told after a while.
func TestWebHalfRequests(t *testing.T) {
	t.Parallel()
	const slow = 200
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 2})
	r.webServers()
	d := r.start(with(r.configuration(), "web: {addresses: ["+webAddress.String()+"], hello: 4s}"))
	var held []net.Conn
	for range slow {
		c, err := visits(r.Clients[0], "GET / HT")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		held = append(held, c)
	}
	eventually(t, 10*time.Second, "as many wait as may", func() bool { return d.status().Web.Full > 0 })
	if n := d.status().Web.Waiting; n > 64 {
		t.Errorf("%d of one address wait", n)
	}
	if page, err := fetchByName(r.Clients[1], "www."+hostName(0)); err != nil || !strings.Contains(page, hostName(0)) {
		t.Errorf("another client: %q, %v", page, err)
	}
	_ = held[0].SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := held[0].Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "reset") {
		t.Errorf("who did not say whom it wants: %v", err)
	}
	if n := d.counted("drop_name_late"); n == 0 {
		t.Error("it is not counted")
	}
}

// A link on the way to the client is narrower than all others, behind a router that says so about segments by numbers that
// the host has never sent.
func TestWebPathMTU(t *testing.T) {
	t.Parallel()
	const octets = 4 << 20
	r := newRealm(t, netns.Options{Hosts: 1, RemoteClients: 1})
	client := r.RemoteClients[0]
	accepts(t, r.Hosts()[0], 8080, func(c net.Conn) {
		defer c.Close()
		if _, err := c.Read(make([]byte, 1024)); err == nil {
			_, _ = io.CopyN(c, zeros{}, octets)
		}
	})
	r.start(with(r.configuration(), "web: {addresses: ["+webAddress.String()+"]}"))
	c, err := visits(client, webRequest(0))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	r.command("router", "ip", "route", "replace", client.IP.String()+"/32", "dev", r.towards(client.IP), "mtu", "lock", "1280")
	if n, err := io.Copy(io.Discard, c); err != nil || n != octets-1 {
		t.Errorf("%d of %d octets came: %v", n, octets, err)
	}
}

// towards is the router's interface to an address.
func (r *realm) towards(a netip.Addr) string {
	r.t.Helper()
	out, err := r.Router.Command(r.t.Context(), "ip", "-o", "route", "get", a.String()).Output()
	if err != nil {
		r.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(out), " dev ")
	name, _, _ := strings.Cut(rest, " ")
	return name
}
