package e2e

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// The default: hosts go out by the public interface's own address, beside the
// gateway's own sockets and its questions upstream.
func TestSharedOutboundAddress(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 2, Servers: 1, Resolver: true})
	r.resolver()
	echoServer(t, r.Servers[0], 7, "server")
	webServer(t, r.Servers[0], 8080, "server")
	d := r.start(with(r.configuration(), "outbound:", "dns: {public: \"198.18.0.1:53\", private: \"10.0.0.1:53\", upstream: [\"198.51.100.53:53\"], cache: 0}"))
	host, server, resolver := r.Hosts()[0], r.Servers[0], r.Resolver.IP

	// Ports that sockets of the gateway hold, on the address or on any.
	held, err := r.Gateway.ListenPacket("udp4", "198.18.0.1:5000")
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	listener, err := r.Gateway.Listen("tcp4", "0.0.0.0:8443")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for _, port := range []uint16{53, 5000} {
		if who, err := echo(host, netip.AddrPortFrom(host.IP, port), netip.AddrPortFrom(server.IP, 7)); err != nil || who != "server" {
			t.Errorf("from port %d: %q, %v", port, who, err)
		}
	}
	for _, port := range []uint16{53, 8443} {
		connection, err := host.DialFrom(context.Background(), "tcp4", netip.AddrPortFrom(host.IP, port), fmt.Sprintf("%s:8080", server.IP))
		if err != nil {
			t.Errorf("from port %d: %v", port, err)
			continue
		}
		_ = connection.Close()
	}
	for _, s := range d.sessions() {
		if s.External.Addr() != r.Gateway.PublicAddress || s.External.Port() == s.Private.Port() {
			t.Errorf("%s leaves as %s, which is a socket's of the gateway", s.Private, s.External)
		}
	}

	// Hosts that ask the resolver themselves, while the gateway asks it too.
	var wrong atomic.Int64
	var running sync.WaitGroup
	askMany := func(server netip.Addr, networks ...string) {
		for i := range 60 {
			answer, err := ask(host, networks[i%len(networks)], server, "outside.test.example.", dns.TypeA)
			if err != nil || first(answer) != "198.51.100.10" {
				wrong.Add(1)
				t.Logf("%s answered %v, %v", server, answer, err)
			}
		}
	}
	for range 2 {
		running.Go(func() { askMany(resolver, "udp", "tcp") })
		running.Go(func() { askMany(r.Gateway.PrivateAddress, "udp", "udp", "tcp") })
	}
	running.Wait()
	if wrong.Load() > 0 {
		t.Errorf("%d of 240 questions went wrong", wrong.Load())
	}
	ports, err := r.Gateway.Sysctl("net/ipv4/ip_local_port_range")
	if err != nil {
		t.Fatal(err)
	}
	var low, high uint16
	if _, err := fmt.Sscan(ports, &low, &high); err != nil {
		t.Fatal(err)
	}
	for _, s := range d.sessions() {
		if p := s.External.Port(); p >= low && p <= high {
			t.Errorf("%s leaves as %s, a port that the kernel gives to its own sockets", s.Private, s.External)
		}
	}
	// From outside the gateway's own address is still its own.
	if err := ping(*r.Resolver, r.Gateway.PublicAddress); err != nil {
		t.Error(err)
	}
}

// Two hosts meet by public addresses: by one lent by name and by a mapping.
func TestHairpin(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 2, Clients: 1, Servers: 1})
	r.webServers()
	r.echoServers()
	echoServer(t, r.Servers[0], 7, "server")
	d := r.start(with(r.configuration(), "outbound: {addresses: [198.18.0.2], filtering: endpoint-independent}"))
	one, two, client := r.Hosts()[0], r.Hosts()[1], r.Clients[0]
	page, err := curl(one, r.mustLend(client, "www."+hostName(1)), 80)
	if err != nil || strings.TrimSpace(page) != hostName(1) {
		t.Errorf("by a lent address: %q, %v", page, err)
	}
	if err := ping(one, r.mustLend(client, hostName(1))); err != nil {
		t.Errorf("by a host's name: %v", err)
	}
	// The second host's mapping of its echo port, made by its own packet out.
	mapped, err := two.ListenPacket("udp4", fmt.Sprintf("%s:4000", two.IP))
	if err != nil {
		t.Fatal(err)
	}
	defer mapped.Close()
	server := net.UDPAddrFromAddrPort(netip.AddrPortFrom(r.Servers[0].IP, 7))
	if _, err := mapped.WriteTo([]byte("x"), server); err != nil {
		t.Fatal(err)
	}
	if _, _, err := mapped.ReadFrom(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	external := d.sessions("--port", "4000")[0].External
	received := make(chan string, 1)
	go func() {
		buffer := make([]byte, 100)
		_ = mapped.SetReadDeadline(time.Now().Add(4 * time.Second))
		n, from, err := mapped.ReadFrom(buffer)
		if err == nil {
			_, err = mapped.WriteTo([]byte(hostName(1)+" "), from)
		}
		received <- fmt.Sprintf("%s %v %v", buffer[:n], from, err)
	}()
	who, err := echo(one, netip.AddrPortFrom(one.IP, 4001), external)
	heard := <-received
	if err != nil || who != hostName(1) || heard != "x 198.18.0.2:4001 <nil>" {
		t.Errorf("by the mapping %s: %q, %v; it heard %q", external, who, err, heard)
	}
	hairpins := 0
	for _, s := range d.sessions() {
		if s.Hairpin {
			hairpins++
		}
	}
	if hairpins < 4 {
		t.Errorf("%d sessions are hairpins: %v", hairpins, d.sessions())
	}
}

// A neighbour that must be asked for first gets the first packet all the same;
// one that is not there, and a missing route, are told of.
func TestNeighboursAndRoutes(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1, Servers: 1})
	r.echoServers()
	host, server, client := r.Hosts()[0], r.Servers[0], r.Clients[0]
	echoServer(t, server, 7, "server")
	echoServer(t, client, 7, "client")
	d := r.start(r.configuration())
	flush := func() { r.command("gateway", "ip", "neigh", "flush", "all") }
	for range 3 {
		for who, to := range map[string]netip.Addr{"server": server.IP, "client": client.IP} {
			flush()
			if got, err := echo(host, netip.AddrPort{}, netip.AddrPortFrom(to, 7)); err != nil || got != who {
				t.Errorf("the first packet to %s reached %q: %v", who, got, err)
			}
		}
		address := r.mustLend(client, "echo."+hostName(0))
		flush()
		if got, err := echo(client, netip.AddrPort{}, echoAddress(address)); err != nil || got != hostName(0) {
			t.Errorf("the first packet in reached %q: %v", got, err)
		}
	}
	if d.counted("forwarded_no_neighbour") == 0 {
		t.Error("no packet had to wait for its neighbour: the test shows nothing")
	}
	before := d.counted("forwarded_no_neighbour")
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	if connection, err := host.DialContext(ctx, "tcp4", "198.18.0.99:80"); err == nil {
		_ = connection.Close()
		t.Error("somebody answered at an address that nobody has")
	}
	cancel()
	if d.counted("forwarded_no_neighbour") == before {
		t.Error("packets to a neighbour that is not there are not counted as such")
	}
	if who, err := echo(host, netip.AddrPort{}, netip.AddrPortFrom(server.IP, 7)); err != nil {
		t.Errorf("others are disturbed: %q, %v", who, err)
	}

	// No route: the host is told at once, and so is the operator.
	if err := r.Gateway.RemoveRoute("default", "198.18.0.254"); err != nil {
		t.Fatal(err)
	}
	eventually(t, 2*awaited[true], "a host is told that there is no route", func() bool {
		to := netip.AddrPortFrom(netip.MustParseAddr("203.0.113.1"), 7)
		return complaint(t, host, netip.AddrPort{}, to, 64) == "3/0 from 10.0.0.1"
	})
	if d.counted("drop_no_route") == 0 || d.warning("drop_no_route") == "" {
		t.Errorf("drop_no_route %d, warnings %q", d.counted("drop_no_route"), d.status().Warnings)
	}
	if err := r.Gateway.Route("default", "198.18.0.254"); err != nil {
		t.Fatal(err)
	}
	eventually(t, 5*time.Second, "the route is back", func() bool {
		who, err := echo(host, netip.AddrPort{}, netip.AddrPortFrom(server.IP, 7))
		return err == nil && who == "server"
	})
}
