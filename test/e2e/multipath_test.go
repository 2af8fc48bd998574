package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

// pages counts whose page a client gets in so many connections.
func pages(from netns.Node, address netip.Addr, port, times int) map[string]int {
	got := map[string]int{}
	for range times {
		page, err := curl(from, address, port, "--connect-timeout", "8")
		if err != nil {
			page = "nobody"
		}
		got[page]++
	}
	return got
}

// states are those of the backends of a chain's only function.
func (d *daemon) states(chain string) (list []string) {
	for _, b := range d.functions(chain)[0].Backends {
		list = append(list, b.State)
	}
	return list
}

func (d *daemon) eventuallyStates(want ...string) {
	d.t.Helper()
	eventually(d.t, 20*time.Second, fmt.Sprint("backends are ", want), func() bool { return slices.Equal(d.states("web"), want) })
}

// New connections go to the backends that are up, and each of these gets some; a backend
// that stops answering gets none, and is back when it answers again; where none is up
// connections are dropped, and counted. Nothing of that takes a reload.
func TestMultipath(t *testing.T) {
	r := newRealm(t, netns.Options{Hosts: 2, Clients: 1})
	serve := func(host int) (stop func()) {
		listener, err := r.Hosts()[host].Listen("tcp4", netip.AddrPortFrom(r.Hosts()[host].IP, 8080).String())
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{Handler: page(hostName(host)), ReadHeaderTimeout: 10 * time.Second}
		go func() { _ = server.Serve(listener) }()
		t.Cleanup(func() { _ = server.Close() })
		return func() { _ = server.Close() }
	}
	first, second := serve(0), serve(1)
	d := r.start(r.configuration() + fmt.Sprintf(`chains:
  - name: web
    match: {direction: in, to: %s, protocol: tcp, port: 80}
    functions:
      - use: multipath
        backends: [{to: %s, port: 8080}, {to: %s, port: 8080}]
        check: {every: 100ms, timeout: 100ms, fall: 2, rise: 2}
`, r.Gateway.Outbound, r.Hosts()[0].IP, r.Hosts()[1].IP))
	client0, out := r.Clients[0], r.Gateway.Outbound
	d.eventuallyStates("up", "up")
	both := pages(client0, out, 80, 20)
	if one, two := both[hostName(0)+"\n"], both[hostName(1)+"\n"]; one == 0 || two == 0 || one+two != 20 {
		t.Errorf("of 20 connections: %v", both)
	}
	generation := d.status().Generation
	second()
	d.eventuallyStates("up", "down")
	if d.warning("1 of 2 backends are down: see realmgate chain show web") == "" {
		t.Error("status says nothing of a backend that is down")
	}
	if got := pages(client0, out, 80, 10); got[hostName(0)+"\n"] != 10 {
		t.Errorf("without the second backend: %v", got)
	}
	first()
	d.eventuallyStates("down", "down")
	before := d.functions("web")[0].Dropped
	if _, err := curl(client0, out, 80, "--connect-timeout", "1"); err == nil {
		t.Error("with no backend somebody answers")
	}
	if f := d.functions("web")[0]; f.Dropped <= before {
		t.Errorf("what multipath did with no backend: %+v", f)
	}
	serve(1)
	d.eventuallyStates("down", "up")
	if got := pages(client0, out, 80, 10); got[hostName(1)+"\n"] != 10 {
		t.Errorf("with the second backend alone: %v", got)
	}
	if now := d.status().Generation; now != generation {
		t.Errorf("generation %d became %d", generation, now)
	}
}

// The guide's multipath sends two of three flows to the first host, asks for a page
// whether they are up, and is named by explain.
func TestGuideMultipath(t *testing.T) {
	r := newRealm(t, netns.Options{Hosts: 2, Clients: 1})
	r.webServers()
	d := r.start(r.configuration() + r.guide("multipath.md", "198.18.0.2", r.Gateway.Outbound.String(),
		"10.0.0.100", r.Hosts()[0].IP.String(), "10.0.0.101", r.Hosts()[1].IP.String()))
	eventually(t, 20*time.Second, "both have been asked", func() bool {
		return !slices.ContainsFunc(d.functions("web")[0].Backends, func(b client.Backend) bool { return b.Since.IsZero() })
	})
	d.eventuallyStates("up", "up")
	const times = 200 // by chance the second host has as many once in a million
	got := pages(r.Clients[0], r.Gateway.Outbound, 8000, times)
	if one, two := got[hostName(0)+"\n"], got[hostName(1)+"\n"]; one+two != times || one <= two || two == 0 {
		t.Errorf("of %d connections: %v", times, got)
	}
	said, err := d.tell("explain", r.Clients[0].IP.String(), "--to", r.Gateway.Outbound.String(), "--protocol", "tcp", "--port", "8000")
	if err != nil || !strings.Contains(said, ":8080 when it comes from port 40000; 2 of 2 backends are up") {
		t.Errorf("explain: %v:\n%s", err, said)
	}
}

// UDP flows of a backend that goes down go to another with their next packet; a TCP
// connection stays with it, and so it does when a reload comes.
func TestMultipathMovesUDP(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 2, Clients: 1})
	r.webServers()
	r.echoServers()
	hosts, out := r.Hosts(), r.Gateway.Outbound
	listeners := make([]net.Listener, len(hosts))
	for i, h := range hosts {
		listener, err := h.Listen("tcp4", netip.AddrPortFrom(h.IP, 9000).String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = listener.Close() })
		listeners[i] = listener
	}
	configuration := r.configuration() + fmt.Sprintf(`chains:
  - name: web
    match: {direction: in, to: %[1]s, protocol: udp, port: 53}
    functions:
      - use: multipath
        backends: [{to: %[2]s, port: 7}, {to: %[3]s, port: 7}]
        check: {port: 9000, every: 100ms, timeout: 100ms, fall: 2, rise: 2}
  - name: pages
    match: {direction: in, to: %[1]s, protocol: tcp, port: 54}
    functions:
      - {use: multipath, backends: [{to: %[2]s, port: 8080}, {to: %[3]s, port: 8080}], check: {port: 9000, every: 100ms, timeout: 100ms, fall: 2, rise: 2}}
`, out, hosts[0].IP, hosts[1].IP)
	d := r.start(configuration)
	talk, err := r.Clients[0].DialContext(t.Context(), "udp4", netip.AddrPortFrom(out, 53).String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = talk.Close() })
	who, err := echoOn(talk)
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	if who == hostName(1) {
		at = 1
	}
	// A connection to the same host: one in two is.
	var connection net.Conn
	for range 100 {
		c, err := r.Clients[0].DialContext(t.Context(), "tcp4", netip.AddrPortFrom(out, 54).String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if said, err := requests(c); err != nil {
			t.Fatal(err)
		} else if said == hostName(at) {
			connection = c
			break
		}
	}
	if connection == nil {
		t.Fatalf("none of 100 connections reached %s", who)
	}
	_ = listeners[at].Close()
	eventually(t, 20*time.Second, "the conversation moves", func() bool {
		now, err := echoOn(talk)
		return err == nil && now == hostName(1-at)
	})
	eventually(t, 20*time.Second, "the backend of pages is down", func() bool {
		return d.functions("pages")[0].Backends[at].State == "down"
	})
	for _, when := range []string{"a backend is down", "a reload"} {
		if said, err := requests(connection); err != nil || said != hostName(at) {
			t.Errorf("after %s a connection reaches %q: %v", when, said, err)
		}
		if out, err := d.tell("reload"); err != nil {
			t.Fatal(out)
		}
		if state := d.functions("pages")[0].Backends[at].State; state != "down" {
			t.Errorf("a reload made the backend %s", state)
		}
	}
}

// requests asks for a page on a connection that stays.
func requests(c net.Conn) (string, error) {
	if err := c.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return "", err
	}
	if _, err := fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		return "", err
	}
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return strings.TrimSpace(string(text)), err
}
