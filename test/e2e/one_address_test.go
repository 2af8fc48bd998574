package e2e

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// onOneAddress leaves a configuration one public address: for names, connections out, the name server and the gateway.
func onOneAddress(configuration, address string) string {
	configuration = without(configuration, "open: [icmp]")
	return with(configuration, "pool: {addresses: ["+address+"], wait: 0s}", "outbound: {addresses: ["+address+"]}")
}

// A home line: one public address for all, which the gateway has on its interface.
func TestOneAddress(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 2, Clients: 2, Servers: 1, Resolver: true})
	r.resolver()
	r.webServers()
	r.echoServers()
	webServer(t, r.Servers[0], 8080, "server")
	iperfServer(t, r.Servers[0], 5201)
	iperfServer(t, r.Hosts()[0], 5201)
	one, host, client, server := r.Gateway.PublicAddress, r.Hosts()[0], r.Clients[0], r.Servers[0]
	bannerServer(t, netns.Node{Namespace: r.Gateway.Namespace, IP: one}, 22, "own")
	configuration := onOneAddress(r.configuration(), one.String())
	d := r.start(configuration)

	own := func(from netns.Node) {
		t.Helper()
		if said, err := greets(t, from, netip.AddrPortFrom(one, 22), "SSH-2.0-mine", awaited[true]); err != nil || !strings.Contains(said, "own") {
			t.Errorf("the gateway's own port 22 says %q to %s: %v", said, from.Name(), err)
		}
	}
	byName := func(client netns.Node, port int) {
		t.Helper()
		if address := r.mustLend(client, "www."+hostName(0)); address != one {
			t.Errorf("%s is lent", address)
		}
		if page, err := curl(client, one, port); err != nil || strings.TrimSpace(page) != hostName(0) {
			t.Errorf("port %d is %q: %v", port, page, err)
		}
	}
	out := func() {
		t.Helper()
		if page, err := curl(host, server.IP, 8080); err != nil || strings.TrimSpace(page) != "server" {
			t.Errorf("going out gets %q: %v", page, err)
		}
	}
	own(client)
	own(host)
	byName(client, 80)
	out()
	if found, err := dig(host, r.Gateway.PrivateAddress, "www."+hostName(0)); err != nil || len(found) != 1 || found[0] != host.IP {
		t.Errorf("inside the name is %v: %v", found, err)
	}
	if found, err := dig(client, r.Resolver.IP, "www."+hostName(0)); err != nil || len(found) != 1 || found[0] != one {
		t.Errorf("by way of a resolver the name is %v: %v", found, err)
	}
	r.mustLend(client, "echo."+hostName(0))
	if who, err := echo(client, netip.AddrPort{}, echoAddress(one)); err != nil || who != hostName(0) {
		t.Errorf("echo of %q: %v", who, err)
	}
	if again := r.mustLend(r.Hosts()[1], "www."+hostName(0)); again != one { // asked of the public server, as a guest's resolver does
		t.Errorf("%s is lent to a host inside", again)
	}
	if page, err := curl(r.Hosts()[1], one, 80); err != nil || strings.TrimSpace(page) != hostName(0) {
		t.Errorf("from inside by the public address: %q, %v", page, err)
	}
	if address, err := lent(client, r.Gateway, "www."+hostName(1)); err == nil {
		t.Errorf("the second host's web server has %s", address)
	}
	if text, _ := d.tell("status"); !strings.Contains(text, "www."+hostName(0)+" and www."+hostName(1)+" both want the web's ports") {
		t.Errorf("the status does not say why it has none:\n%s", text)
	}
	if text, err := d.tell("pool"); err != nil || !strings.Contains(text, one.String()) || !strings.Contains(text, "www."+hostName(0)) {
		t.Errorf("pool says %v: %s", err, text)
	}
	for port, want := range map[string]string{"80": "as www." + hostName(0), "22": "is for the gateway itself"} {
		if text, err := d.tell("explain", client.IP.String(), "--to", one.String(), "--protocol", "tcp", "--port", port); err != nil || !strings.Contains(text, want) {
			t.Errorf("explain of port %s: %v: %s", port, err, text)
		}
	}

	// A transfer out and one by name go on over the daemon's death.
	r.mustLend(client, "perf."+hostName(0))
	type result struct {
		transfer
		error
	}
	results := make(chan result, 2)
	for from, to := range map[netns.Node]netip.Addr{host: server.IP, client: one} {
		go func() {
			done, err := iperf(from, to, 5201, "-t", "5", "-b", "30M")
			results <- result{done, err}
		}()
	}
	eventually(t, 10*time.Second, "two transfers", func() bool {
		n := 0
		for _, s := range d.sessions("--protocol", "tcp") {
			if s.State == "established" && (s.External.Port() == 5201 || s.Remote.Port() == 5201) {
				n++
			}
		}
		return n == 4
	})
	d.kill()
	byKnown := func() {
		if page, err := curl(client, one, 80); err != nil || strings.TrimSpace(page) != hostName(0) {
			t.Errorf("without a daemon: %q, %v", page, err)
		}
	}
	byKnown()
	out()
	own(client)
	d.run()
	if !d.status().Adopted {
		t.Error("the data plane was not adopted")
	}
	for range 2 {
		if done := <-results; done.error != nil || done.stall() > 2*time.Second {
			t.Errorf("a transfer stood still for %s: %v", done.stall(), done.error)
		}
	}
	byName(r.Clients[1], 80)

	// The service gets another port.
	d.write(strings.Replace(configuration, "port: 80, to: 8080", "port: 8000, to: 8080", 1))
	if text, err := d.tell("reload"); err != nil {
		t.Fatalf("reload: %v: %s", err, text)
	}
	byName(client, 8000)
	if page, err := curl(client, one, 80, "--connect-timeout", "2"); err == nil {
		t.Errorf("the old port is %q", page)
	}
	out()
	own(client)

	// One that a program of the gateway has is refused, and the reload changes nothing.
	d.write(strings.Replace(configuration, "port: 80, to: 8080", "port: 22, to: 8080", 1))
	if text, err := d.tell("reload"); err == nil || !strings.Contains(text, "where a program of the gateway listens") {
		t.Errorf("reload: %v: %s", err, text)
	}
	byName(client, 8000)
	own(client)
	d.stop()
	own(client)
}

// An interface stands for its address: when that changes, names, connections out and the name server are at the new one.
func TestOneAddressChanges(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 2, Servers: 1})
	r.webServers()
	webServer(t, r.Servers[0], 8080, "server")
	host, client, old := r.Hosts()[0], r.Clients[0], r.Gateway.PublicAddress
	d := r.start(with(onOneAddress(r.configuration(), "eth0"), `dns: {public: eth0, private: "10.0.0.1:53"}`))
	works := func(client netns.Node, at netip.Addr) {
		t.Helper()
		if address := r.mustLend(client, "www."+hostName(0)); address != at {
			t.Errorf("%s is lent", address)
		}
		if page, err := curl(client, at, 80); err != nil || strings.TrimSpace(page) != hostName(0) {
			t.Errorf("by name: %q, %v", page, err)
		}
		if page, err := curl(host, r.Servers[0].IP, 8080); err != nil || strings.TrimSpace(page) != "server" {
			t.Errorf("going out: %q, %v", page, err)
		}
	}
	works(client, old)
	r.command("gateway", "ip", "address", "del", old.String()+"/24", "dev", "eth0")
	eventually(t, 10*time.Second, "the status says that there is no address", func() bool {
		text, err := d.tell("status")
		return err == nil && strings.Contains(text, "no outbound address")
	})
	next := netip.MustParseAddr("198.18.0.20")
	r.must(r.Gateway.Address("eth0", next.String()+"/24"), r.Gateway.Route("default", "198.18.0.254"))
	r.Gateway.PublicAddress = next
	eventually(t, 10*time.Second, "a name is answered at the new address", func() bool {
		_, err := lent(client, r.Gateway, "www."+hostName(0))
		return err == nil
	})
	works(client, next)
	works(r.Clients[1], next)
	if found := len(d.sessions("--address", old.String())); found > 0 {
		t.Errorf("%d sessions are at the old address", found)
	}
	d.kill()
	d.run()
	works(client, next)
	if page, err := curl(client, old, 80, "--connect-timeout", "1"); err == nil {
		t.Errorf("the old address is %q", page)
	}
}
