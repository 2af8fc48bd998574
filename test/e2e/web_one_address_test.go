package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/test/certificate"
)

// httpsSite serves a page by HTTPS, with a certificate for its name alone, and by HTTP.
func httpsSite(t *testing.T, at netns.Node, name string) {
	t.Helper()
	own := certificate.SelfSigned(t, certificate.ForNames(name))
	webServer(t, at, 80, pageOf(name))
	listener, err := at.Listen("tcp4", netip.AddrPortFrom(at.IP, 443).String())
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: page(pageOf(name)), ReadHeaderTimeout: 10 * time.Second, TLSConfig: &tls.Config{
		Certificates: []tls.Certificate{*own.TLS()}, MinVersion: tls.VersionTLS12,
	}}
	go func() { _ = server.ServeTLS(listener, "", "") }()
	t.Cleanup(func() { _ = server.Close() })
}

// opensPage reads a site's page by HTTPS at an address, over a connection of its own, and wants the site's own certificate.
func opensPage(ctx context.Context, from netns.Node, at netip.Addr, name string) error {
	client := http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return from.DialContext(ctx, "tcp4", netip.AddrPortFrom(at, 443).String())
		},
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true, //nolint:gosec // it is looked at below
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+name+"/", nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if strings.TrimSpace(string(text)) != strings.TrimSpace(pageOf(name)) {
		return fmt.Errorf("%s has %q", name, text)
	}
	return response.TLS.PeerCertificates[0].VerifyHostname(name)
}

// goOut opens many connections of a host to a server's port 443, the first from some ports, and returns what says a word on each
// and wants it back.
func goOut(t *testing.T, host, server netns.Node, many int, ports ...uint16) (speak func() error) {
	t.Helper()
	open := make([]net.Conn, 0, many)
	for i := range many {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		var c net.Conn
		var err error
		to := netip.AddrPortFrom(server.IP, 443)
		if i < len(ports) {
			c, err = host.DialFrom(ctx, "tcp4", netip.AddrPortFrom(host.IP, ports[i]), to.String())
		} else {
			c, err = host.DialContext(ctx, "tcp4", to.String())
		}
		cancel()
		if err != nil {
			t.Fatalf("connection %d out: %v", i, err)
		}
		t.Cleanup(func() { _ = c.Close() })
		open = append(open, c)
	}
	return func() error {
		for i, c := range open {
			word := fmt.Sprintf("%06d", i)
			if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
				return err
			}
			if _, err := io.WriteString(c, word); err != nil {
				return fmt.Errorf("connection %d out: %w", i, err)
			}
			answer := make([]byte, len(word))
			if _, err := io.ReadFull(c, answer); err != nil || string(answer) != word {
				return fmt.Errorf("connection %d out said %q, and heard %q: %w", i, word, answer, err)
			}
		}
		return nil
	}
}

// The guide's two HTTPS sites at the only address from the provider, each with its own certificate: while 1,000 connections go
// out by the same address, while programs of the gateway listen there, and over the daemon's death.
func TestGuideWebAtTheOnlyAddress(t *testing.T) {
	t.Parallel()
	const out, rounds = 500, 50
	for _, mode := range []string{"tcx", "xdp"} {
		t.Run(mode, func(t *testing.T) {
			r := newRealm(t, netns.Options{Hosts: 3, Clients: 1, Servers: 1})
			one, client, server := r.Gateway.PublicAddress, r.Clients[0], r.Servers[0]
			names := []string{"www.foo.example", "shop.foo.example"}
			var replaced []string
			for i, h := range r.Hosts()[:len(names)] {
				httpsSite(t, h, names[i])
				replaced = append(replaced, fmt.Sprintf("10.0.0.%d", 100+i), h.IP.String())
			}
			accepts(t, server, 443, func(c net.Conn) { defer c.Close(); _, _ = io.Copy(c, c) })
			own := netns.Node{Namespace: r.Gateway.Namespace, IP: one}
			bannerServer(t, own, 22, "own")
			bannerServer(t, own, 443, "in the way")
			usual, _, _ := strings.Cut(r.configuration(), "hosts:\n")
			usual = with(usual+"hosts:\n", "pool:", "outbound:",
				r.interfacesAt(mode))
			usual, _, _ = strings.Cut(usual, "hosts:\n")
			d := r.start(usual + r.guideBlock("one-address.md", 1, append(replaced, "198.18.0.1", one.String())...))

			for _, name := range names {
				if at, err := dig(client, one, name); err != nil || len(at) != 1 || at[0] != one {
					t.Fatalf("%s is at %v: %v", name, at, err)
				}
			}
			both := func(when string) {
				t.Helper()
				for _, name := range names {
					if err := opensPage(t.Context(), client, one, name); err != nil {
						t.Fatalf("%s: %v", when, err)
					}
				}
				if said, err := greets(t, client, netip.AddrPortFrom(one, 22), "SSH-2.0-mine", awaited[true]); err != nil || !strings.Contains(said, "own") {
					t.Fatalf("%s: the gateway's port 22 says %q: %v", when, said, err)
				}
			}
			both("at first")
			var speak [2]func() error
			ports := [][]uint16{{22, 53, 1, 1023}, {80, 443, 22, 53, 1, 1023}} // the site of the first has two of them
			for i, h := range r.Hosts()[1:] {
				speak[i] = goOut(t, h, server, out, ports[i]...)
			}
			var going sync.WaitGroup
			for i := range speak {
				going.Go(func() {
					if err := speak[i](); err != nil {
						t.Error(err)
					}
				})
			}
			for range rounds {
				both("beside connections out")
			}
			going.Wait()
			mapped := 0
			for _, s := range d.sessions("--protocol", "tcp") {
				if s.Origin != "mapping" && s.Origin != "inside" {
					continue
				}
				mapped++
				if s.External.Addr() != one || s.External.Port() == 80 || s.External.Port() == 443 {
					t.Errorf("%s goes out by %s", s.Private, s.External)
				}
			}
			if mapped < 2*out {
				t.Errorf("%d connections out are listed", mapped)
			}
			eventually(t, 30*time.Second, "the status names who listens in the way", func() bool {
				return d.warning("listens at tcp port 443 of "+one.String()+", and hears nobody from outside") != ""
			})
			if text, err := d.tell("check", "-c", d.config); err != nil || !strings.Contains(text, "listens at tcp port 443 of "+one.String()) {
				t.Errorf("check: %v: %s", err, text)
			}
			d.kill()
			for i := range speak {
				if err := speak[i](); err != nil {
					t.Errorf("without a daemon: %v", err)
				}
			}
			d.run()
			both("after a restart")
		})
	}
}

// Web sites are at whatever address the interface has.
func TestWebAddressChanges(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 2, Clients: 1})
	names := []string{"www.foo.example", "shop.foo.example"}
	hosts := "hosts:\n"
	for i, h := range r.Hosts() {
		httpsSite(t, h, names[i])
		hosts += fmt.Sprintf("  - {name: %s., address: %s, open: [tcp/80, tcp/443]}\n", names[i], h.IP)
	}
	usual, _, _ := strings.Cut(onOneAddress(r.configuration(), "eth0"), "hosts:\n")
	d := r.start(with(usual+hosts, `dns: {public: eth0, private: "10.0.0.1:53"}`, "web: {addresses: [eth0]}"))
	works := func(at netip.Addr) {
		t.Helper()
		for _, name := range names {
			if found, err := dig(r.Clients[0], at, name); err != nil || found[0] != at {
				t.Errorf("%s is at %v: %v", name, found, err)
			}
			if err := opensPage(t.Context(), r.Clients[0], at, name); err != nil {
				t.Error(err)
			}
		}
	}
	old, next := r.Gateway.PublicAddress, netip.MustParseAddr("198.18.0.20")
	works(old)
	r.command("gateway", "ip", "address", "del", old.String()+"/24", "dev", "eth0")
	r.must(r.Gateway.Address("eth0", next.String()+"/24"), r.Gateway.Route("default", "198.18.0.254"))
	eventually(t, 10*time.Second, "names are answered at the new address", func() bool {
		found, err := dig(r.Clients[0], next, names[0])
		return err == nil && found[0] == next
	})
	works(next)
	if found := len(d.sessions("--address", old.String())); found > 0 {
		t.Errorf("%d sessions are at the old address", found)
	}
	d.kill()
	d.run()
	works(next)
}
